#pragma once

#include <optional>

#include <fheres/workload/model.hpp>

namespace fheres::test {

/// The fewest bytes that any plan of a small workload moves, by trying them all: every order of drops, moves and copies
/// before a stage's reservations, after them, and when it has ended, each through residency::State. Values may be copied
/// to where a stage requires them, and moved or copied along the policy's tiers. Nothing where no plan serves. Addresses
/// are not looked at.
std::optional<Bytes> fewest_bytes(const workload::Workload& workload);

}  // namespace fheres::test
