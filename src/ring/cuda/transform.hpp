#pragma once

#include <cuda_runtime_api.h>

#include "ring/cuda/array.hpp"
#include "ring/cuda/tables.hpp"

namespace fheres::ring::cuda {

/// Which polynomials of which limbs a launch covers. Block row y is limb y / polynomials, polynomial y % polynomials.
struct Job {
  int first_prime = 0;
  int limbs = 0;
  int polynomials = 1;
  /// With skip_limbs > 0: polynomial j is digit j, and the primes that are limbs of digit j are left untouched.
  int skip_limbs = 0;
  int special_limbs = 0;
  /// The prime of the last limb, where it is not the one after the others.
  int last_prime = -1;

  FHERES_INLINE int prime(int limb) const {
    return last_prime >= 0 && limb == limbs - 1 ? last_prime : first_prime + limb;
  }
  FHERES_INLINE bool skips(int prime, int polynomial) const {
    return skip_limbs > 0 && prime >= special_limbs && (prime - special_limbs) / skip_limbs == polynomial;
  }
};

/// How the inverse transform of each limb ends. Limb i uses whole[i], from partial_from on partial[i]; where the one that
/// it would use is null, `one`.
struct Ends {
  const Affine* whole = nullptr;
  const Affine* partial = nullptr;
  int partial_from = 0;
  Affine one = {};
};

/// The plain passes, on the array in place: what is left of a transform when one side needs no special work.
void forward_columns(const Tables& tables, const Job& job, const Array& values, cudaStream_t stream);
/// Canonical residues out.
void forward_rows(const Tables& tables, const Job& job, const Array& values, cudaStream_t stream);
/// `in` to `out`, which may be the same.
void inverse_rows(const Tables& tables, const Job& job, const ConstArray& in, const Array& out,
                  cudaStream_t stream);
/// Canonical residues out: x factor + offset.
void inverse_columns(const Tables& tables, const Job& job, const Array& values, const Ends& ends,
                     cudaStream_t stream);

}  // namespace fheres::ring::cuda
