#pragma once

#include <cstdint>
#include <vector>

#include <fheres/scheme/parameters.hpp>

namespace fheres::scheme {

/// The primes of a literal, in limb order, and the canonical scales that they give.
struct PrimeChain {
  std::vector<std::uint64_t> q;
  std::vector<std::uint64_t> p;
  std::vector<Scale> canonical;  // S_0 .. S_max_level
};

/// Finds them, the same on every machine: explicit primes are taken as they are; special primes are the largest
/// below 2^bits; then the base prime likewise; then for each level from the fresh one on the prime that this
/// level's rescale consumes: the unused one nearest to the level's canonical scale (nearest to 2^bits where its
/// size is not the scale's). "Nearest" is exact; between equally near ones the smaller is taken.
/// Throws ParameterError when no such prime is within half a bit of its size, or two primes are equal.
PrimeChain find_primes(const ParametersLiteral& literal);

}  // namespace fheres::scheme
