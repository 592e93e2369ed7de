#pragma once

#include <optional>

#include <fheres/workload/model.hpp>

namespace fheres::test {

/// The fewest bytes that any plan of a small workload moves: at most 12 values, 6 stages and 3 locations, no
/// backings. A search over where every value is before and after each stage's reservations, with rules of its
/// own (page 03) and none of residency::State. Values are copied to where some stage requires them, and along
/// the policy's tiers. What is dropped costs nothing and is dropped only where room is needed, in every way
/// that drops no more than that needs; so a moment with a superset of another's copies, for no more bytes,
/// makes the other one needless. Nothing: no plan serves. Addresses are not looked at.
std::optional<Bytes> least_bytes(const workload::Workload& workload);

}  // namespace fheres::test
