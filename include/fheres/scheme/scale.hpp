#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace fheres::scheme {

/// A positive scaling factor, mantissa * 2^exponent, the mantissa a 128-bit integer with its top bit set. All
/// arithmetic is in integers, truncating, so a scale is the same on every machine. Equality is exact.
class Scale {
 public:
  Scale() : Scale(power_of_two(0)) {}
  static Scale power_of_two(int exponent);
  static Scale from_integer(std::uint64_t value);  // value > 0

  Scale times(const Scale& other) const;
  Scale over(std::uint64_t divisor) const;  // divisor > 0

  /// The nearest double; exact enough for encoding, which rounds each coefficient anyway.
  double to_double() const;
  /// log2, to print and to bound.
  double log2() const;
  /// The whole part, below 2^64 (else std::overflow_error), and whether there is no other part.
  std::uint64_t whole() const;
  bool is_whole() const;
  /// `2^40` where exact, else `2^39.9997`.
  std::string text() const;
  std::uint64_t mantissa_high() const { return high_; }
  std::uint64_t mantissa_low() const { return low_; }
  int exponent() const { return exponent_; }
  static Scale from_parts(std::uint64_t high, std::uint64_t low, int exponent);

  friend bool operator==(const Scale&, const Scale&) = default;

 private:
  Scale(std::uint64_t high, std::uint64_t low, int exponent) : high_(high), low_(low), exponent_(exponent) {}
  std::uint64_t high_, low_;  // value = (high * 2^64 + low) * 2^exponent, top bit of high set
  int exponent_;
};

}  // namespace fheres::scheme
