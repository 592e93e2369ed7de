#pragma once

#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::scheme {

/// Primes below 2^kFastPrimeBits go through a device's double-precision pipe, where a butterfly costs less than half of
/// an integer one; larger ones go through integers. Both are exact.
inline constexpr int kFastPrimeBits = 46;

/// What a key switch at level 0 is made of. Times are floors on one H200 at its measured rates (design, page 07): what
/// its arithmetic and its memory take at the least, to compare choices by, and no promise.
struct SwitchCost {
  int transforms = 0;       // of one limb
  int fast_transforms = 0;  // of these, in double precision
  double compute_us = 0;
  double memory_us = 0;  // the key, once
  double floor_us() const { return compute_us > memory_us ? compute_us : memory_us; }
};
SwitchCost switch_cost(const Parameters& parameters);

/// One choice of special primes and digits for a depth.
struct Choice {
  Parameters parameters;
  bool given = false;  // what was asked about
  Bytes key = 0;       // a rotation key at level 0
  Bytes seeded_key = 0;
  Bytes workspace = 0;  // of a whole key switch
  SwitchCost cost;
};

/// The choices of P and digits for the same depth and scale that the security table allows, by bytes of a key: P out of
/// primes of 60 bits beside the given base prime, and, where the scale leaves room for it, P and the base out of primes of
/// kFastPrimeBits. The given one is among them. ParameterError where that is none.
std::vector<Choice> advise(const ParametersLiteral& literal);

}  // namespace fheres::scheme
