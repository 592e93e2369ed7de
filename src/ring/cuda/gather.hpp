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

}  // namespace fheres::ring::cuda
