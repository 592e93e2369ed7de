#pragma once

#include <cstdint>

namespace fheres::scheme {

/// A prime modulus below 2^61 with what Barrett reduction of 128-bit values needs. A plain value.
struct Modulus {
  std::uint64_t value = 0;
  std::uint64_t ratio_high = 0;  // floor(2^128 / value), high and low word
  std::uint64_t ratio_low = 0;

  /// Throws std::invalid_argument unless 2 < value < 2^61. Primality is the caller's word.
  static Modulus make(std::uint64_t value);
  int bits() const;
  friend bool operator==(const Modulus&, const Modulus&) = default;
};

/// a + b, a - b, a * b, a^e, 1/a modulo q. Operands in [0, q), result in [0, q).
std::uint64_t add_mod(std::uint64_t a, std::uint64_t b, const Modulus& q);
std::uint64_t sub_mod(std::uint64_t a, std::uint64_t b, const Modulus& q);
std::uint64_t mul_mod(std::uint64_t a, std::uint64_t b, const Modulus& q);
std::uint64_t pow_mod(std::uint64_t a, std::uint64_t exponent, const Modulus& q);
/// Throws std::invalid_argument when a is 0.
std::uint64_t inverse_mod(std::uint64_t a, const Modulus& q);
/// Any 128-bit value, as two words, modulo q.
std::uint64_t reduce_128(std::uint64_t high, std::uint64_t low, const Modulus& q);

}  // namespace fheres::scheme
