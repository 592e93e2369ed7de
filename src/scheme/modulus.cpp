#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/scheme/modulus.hpp>

namespace fheres::scheme {

using Wide = unsigned __int128;

Modulus Modulus::make(std::uint64_t value) {
  if (value <= 2 || value >= (std::uint64_t{1} << 61)) {
    throw std::invalid_argument(fmt::format("a modulus is above 2 and below 2^61, not {}", value));
  }
  // No odd modulus divides 2^128, so the quotient of 2^128 - 1 is the one of 2^128; for a power of two it
  // is one less, which only costs a subtraction.
  const Wide ratio = ~Wide{0} / value;
  return {value, static_cast<std::uint64_t>(ratio >> 64), static_cast<std::uint64_t>(ratio)};
}

int Modulus::bits() const { return static_cast<int>(std::bit_width(value)); }

std::uint64_t add_mod(std::uint64_t a, std::uint64_t b, const Modulus& q) {
  const std::uint64_t sum = a + b;
  return sum >= q.value ? sum - q.value : sum;
}

std::uint64_t sub_mod(std::uint64_t a, std::uint64_t b, const Modulus& q) {
  return a >= b ? a - b : a + q.value - b;
}

std::uint64_t mul_mod(std::uint64_t a, std::uint64_t b, const Modulus& q) {
  const Wide product = static_cast<Wide>(a) * b;
  return reduce_128(static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product), q);
}

std::uint64_t pow_mod(std::uint64_t a, std::uint64_t exponent, const Modulus& q) {
  std::uint64_t result = 1 % q.value;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = mul_mod(result, a, q);
    a = mul_mod(a, a, q);
  }
  return result;
}

std::uint64_t inverse_mod(std::uint64_t a, const Modulus& q) {
  if (a == 0) throw std::invalid_argument(fmt::format("0 has no inverse modulo {}", q.value));
  return pow_mod(a, q.value - 2, q);
}

std::uint64_t reduce_128(std::uint64_t high, std::uint64_t low, const Modulus& q) {
  // Barrett with floor(2^128 / q): the quotient is at most one too small, so one subtraction ends it. Only the
  // low word of the quotient matters, because the remainder fits in one.
  const Wide high_low = static_cast<Wide>(high) * q.ratio_low;
  const Wide low_high = static_cast<Wide>(low) * q.ratio_high;
  const Wide low_low = static_cast<Wide>(low) * q.ratio_low;
  const Wide middle = static_cast<Wide>(static_cast<std::uint64_t>(high_low)) +
                      static_cast<std::uint64_t>(low_high) + static_cast<std::uint64_t>(low_low >> 64);
  const std::uint64_t quotient = high * q.ratio_high + static_cast<std::uint64_t>(high_low >> 64) +
                                 static_cast<std::uint64_t>(low_high >> 64) +
                                 static_cast<std::uint64_t>(middle >> 64);
  const std::uint64_t remainder = low - quotient * q.value;
  return remainder >= q.value ? remainder - q.value : remainder;
}

}  // namespace fheres::scheme
