#pragma once

#include <fheres/ring/automorphism.hpp>

#include "ring/cuda/ntt_pass.hpp"

namespace fheres::ring::cuda {

/// ring::automorphism_source, with the device's own bit reversal.
FHERES_INLINE unsigned gather_source(unsigned i, unsigned exponent, int log_n) {
#ifdef __CUDA_ARCH__
  const unsigned mask = (2U << log_n) - 1;
  const unsigned e = ((2 * (__brev(i) >> (32 - log_n)) + 1) * exponent) & mask;
  return __brev(e >> 1) >> (32 - log_n);  // e is odd: (e - 1) / 2
#else
  return automorphism_source(i, exponent, log_n);
#endif
}

/// Where an even position and the next one are read from, in one 16-byte access. They stand for a root and its negative,
/// whose odd powers are negatives too: so the sources are such a pair, in this order or the other.
struct PairSource {
  unsigned even;
  bool swapped;

  FHERES_INLINE PairSource(unsigned position, unsigned exponent, int log_n) {
    const unsigned from = gather_source(position, exponent, log_n);
    even = from & ~1U;
    swapped = even != from;
  }
  FHERES_INLINE WordPair read(const u64* x) const {
    const WordPair pair = read_pair(x, static_cast<int>(even));
    return swapped ? WordPair{pair.second, pair.first} : pair;
  }
};

}  // namespace fheres::ring::cuda
