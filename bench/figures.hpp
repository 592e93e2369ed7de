#pragma once

#include <optional>
#include <string_view>

#include <fheres/scheme/parameters.hpp>

namespace fheres::bench {

/// What this project wants of an operation on an NVIDIA H200, in microseconds. Names of sets as in find_set, of
/// operations as in operations().
std::optional<double> goal(std::string_view set, std::string_view operation);

/// What an H200's arithmetic needs at least for an operation at level 0, in microseconds: butterflies and sums of
/// conversions and key products at the rates that were measured there, in doubles for primes that fit, else in integers.
/// An estimate, not a law. Zero where it is not worked out: pointwise operations, whose floor is memory, and polynomials.
double arithmetic_floor(const scheme::Parameters& parameters, std::string_view operation);

}  // namespace fheres::bench
