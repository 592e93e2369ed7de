#pragma once

#include <fheres/ring/poly.hpp>

#include "ring/cuda/array.hpp"
#include "ring/cuda/gather.hpp"
#include "ring/cuda/tables.hpp"

namespace fheres::ring::cuda {

/// Source as kernels read it: exponent 1 without an automorphism, factor.data null without a factor.
struct SourceArray {
  ConstArray values;
  ConstArray factor;
  unsigned exponent = 1;
};

inline SourceArray source_array(const Source& source) {
  return {array(source.values), array(source.factor), source.automorphism.exponent};
}

/// One limb of a source: residue at a position of the ntt domain, canonical.
struct SourceLimb {
  const u64* values;
  const u64* factor;  // or null
  unsigned exponent;
  int log_n;
  scheme::Modulus prime;

  __device__ __forceinline__ u64 operator()(unsigned position) const {
    if (factor != nullptr) return mul_barrett(values[position], factor[position], prime);
    return values[exponent == 1 ? position : gather_source(position, exponent, log_n)];
  }
};

__device__ __forceinline__ SourceLimb source_limb(const SourceArray& source, const Tables& tables, int prime,
                                                  int limb) {
  return {source.values.at(limb, 0), source.factor.data == nullptr ? nullptr : source.factor.at(limb, 0),
          source.exponent, tables.log_n, tables.primes[prime]};
}

}  // namespace fheres::ring::cuda
