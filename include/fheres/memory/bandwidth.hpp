#pragma once

#include <cstdint>
#include <optional>

#include <fheres/memory/location.hpp>

namespace fheres::memory {

/// Bytes per second that a large copy between two locations is known to reach, by the kinds of the two: measured on one
/// NVIDIA H200 (PCIe 5), and good for telling a fast way from a slow one, not for predicting times. Between two devices:
/// through pinned staging, one leg after the other, which a direct way does not undercut. Nothing for a pair that was
/// not measured (host to host).
std::optional<std::uint64_t> known_bandwidth(Location source, Location destination);

}  // namespace fheres::memory
