#pragma once

#include <cstdint>
#include <optional>

namespace fheres::scheme {

/// Deterministic Miller-Rabin, exact for every 64-bit number.
bool is_prime(std::uint64_t candidate);

/// The largest prime p < below with p = 1 mod `step`, or nothing above `at_least`.
std::optional<std::uint64_t> previous_prime(std::uint64_t below, std::uint64_t step, std::uint64_t at_least);
/// The smallest prime p > above with p = 1 mod `step`, or nothing below `at_most`.
std::optional<std::uint64_t> next_prime(std::uint64_t above, std::uint64_t step, std::uint64_t at_most);

/// The smallest primitive `order`-th root of unity modulo the prime (order a power of two that divides p -
/// 1). "Smallest" over all primitive roots of that order, so every machine takes the same.
std::uint64_t smallest_primitive_root(std::uint64_t prime, std::uint64_t order);

}  // namespace fheres::scheme
