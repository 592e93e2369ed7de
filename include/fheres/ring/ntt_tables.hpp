#pragma once

#include <cstdint>
#include <vector>

#include <fheres/ring/modarith.hpp>

namespace fheres::ring {

/// The `bits` lowest bits of `value`, reversed; 1 <= bits <= 32.
FHERES_HOST_DEVICE inline std::uint32_t reverse_bits(std::uint32_t value, int bits) {
  value = ((value >> 1) & 0x55555555U) | ((value & 0x55555555U) << 1);
  value = ((value >> 2) & 0x33333333U) | ((value & 0x33333333U) << 2);
  value = ((value >> 4) & 0x0f0f0f0fU) | ((value & 0x0f0f0f0fU) << 4);
  value = ((value >> 8) & 0x00ff00ffU) | ((value & 0x00ff00ffU) << 8);
  value = (value >> 16) | (value << 16);
  return value >> (32 - bits);
}

/// Roots of the negacyclic transform modulo one prime q = 1 mod 2N, on the host. psi is the smallest
/// primitive 2N-th root of unity (scheme/primes).
///
/// **The pinned transform.** Coefficients stand in natural order. Position i of the ntt domain holds the
/// value of the polynomial at psi^(2 r + 1), r = reverse_bits(i, log_n). Both are canonical in [0, q). Any
/// algorithm will do.
///
/// The layout serves the merged decimation (Longa and Naehrig, "Speeding up the Number Theoretic Transform
/// for Faster Ideal Lattice-Based Cryptography", 2016): stage m = 1, 2, .. N/2 of the forward transform
/// multiplies block i of m by forward[m + i]; stage m = N/2 .. 1 of the inverse by inverse[m + i]. 4 N words
/// in all.
struct NttTables {
  std::vector<Shoup> forward;  // [N]: psi^reverse_bits(i, log_n)
  std::vector<Shoup> inverse;  // [N]: psi^-reverse_bits(i, log_n); inverse[0] is unused by the stages
  Shoup n_inverse;             // 1/N
  std::uint64_t psi = 0;

  static NttTables make(int log_n, const scheme::Modulus& q);
};

}  // namespace fheres::ring
