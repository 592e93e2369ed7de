#pragma once

#include <cstdint>

#include <fheres/ring/ntt_tables.hpp>

namespace fheres::ring {

/// Where position `i` of the result of X -> X^exponent is read from, in the ntt domain of N = 2^log_n. The
/// result at psi^e, e = 2 reverse_bits(i) + 1, is the operand at psi^(e * exponent mod 2N).
FHERES_HOST_DEVICE inline std::uint32_t automorphism_source(std::uint32_t i, std::uint32_t exponent,
                                                            int log_n) {
  const std::uint32_t mask = (std::uint32_t{2} << log_n) - 1;
  const std::uint32_t e = (2 * reverse_bits(i, log_n) + 1) * exponent & mask;
  return reverse_bits((e - 1) >> 1, log_n);
}

/// The exponent that moves CKKS slot i to slot i + steps (any sign, taken modulo the N/2 slots): 5^-steps mod
/// 2N, since slot j is the value at the root zeta^(5^j).
std::uint32_t rotation_exponent(std::int64_t steps, int log_n);
/// The exponent of complex conjugation: 2N - 1.
inline std::uint32_t conjugation_exponent(int log_n) { return (std::uint32_t{2} << log_n) - 1; }

}  // namespace fheres::ring
