#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace fheres::ckks {

/// zeta^e for e = 0 .. 2N - 1, zeta = exp(i pi / N), rounded from integer arithmetic with 62 fractional bits:
/// the same doubles on every machine, within 2^-53 or so of the truth.
std::vector<std::complex<double>> unit_roots(int log_n);

/// The canonical embedding of real polynomials of degree below N, for the slots zeta^(5^j), j < N/2. A
/// polynomial m stands as u_k = m_k + i m_(k + N/2), since zeta^(5^j N/2) = i for every j.
class Embedding {
 public:
  explicit Embedding(int log_n);

  std::size_t slots() const { return slots_; }
  /// u to slot values, and back (1 / slots included). In place, slots() entries.
  void to_slots(std::span<std::complex<double>> values) const;
  void to_coefficients(std::span<std::complex<double>> values) const;

 private:
  void reverse_order(std::span<std::complex<double>> values) const;

  int log_slots_;
  std::size_t slots_;
  std::vector<std::complex<double>> factors_;  // of the stage with blocks of m: factors_[m / 2 + j]
};

}  // namespace fheres::ckks
