#include <bit>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/scheme/scale.hpp>

namespace fheres::scheme {
namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t high_word(Wide x) { return static_cast<std::uint64_t>(x >> 64); }
constexpr std::uint64_t low_word(Wide x) { return static_cast<std::uint64_t>(x); }

}  // namespace

Scale Scale::power_of_two(int exponent) { return Scale(std::uint64_t{1} << 63, 0, exponent - 127); }

Scale Scale::from_integer(std::uint64_t value) {
  if (value == 0) throw std::invalid_argument("a scale is positive, not 0");
  const int shift = std::countl_zero(value);
  return Scale(value << shift, 0, -64 - shift);
}

Scale Scale::from_parts(std::uint64_t high, std::uint64_t low, int exponent) {
  if (high >> 63 == 0) throw std::invalid_argument("a scale's mantissa has its top bit set");
  return Scale(high, low, exponent);
}

Scale Scale::times(const Scale& other) const {
  // The upper half of the 256-bit product.
  const Wide hh = static_cast<Wide>(high_) * other.high_;
  const Wide hl = static_cast<Wide>(high_) * other.low_;
  const Wide lh = static_cast<Wide>(low_) * other.high_;
  const Wide ll = static_cast<Wide>(low_) * other.low_;
  const Wide middle = static_cast<Wide>(low_word(hl)) + low_word(lh) + high_word(ll);
  Wide upper = hh + high_word(hl) + high_word(lh) + high_word(middle);
  int exponent = exponent_ + other.exponent_ + 128;
  if (upper >> 127 == 0) {
    upper = (upper << 1) | (low_word(middle) >> 63);
    --exponent;
  }
  return Scale(high_word(upper), low_word(upper), exponent);
}

Scale Scale::over(std::uint64_t divisor) const {
  if (divisor == 0) throw std::invalid_argument("a scale is divided by a positive number, not 0");
  // Long division of mantissa * 2^64: the quotient has at least 128 bits.
  std::uint64_t quotient[3];
  Wide rest = 0;
  const std::uint64_t words[3] = {high_, low_, 0};
  for (int i = 0; i < 3; ++i) {
    const Wide part = (rest << 64) | words[i];
    quotient[i] = low_word(part / divisor);
    rest = part % divisor;
  }
  int exponent = exponent_ - 64;
  Wide top = (static_cast<Wide>(quotient[0]) << 64) | quotient[1];
  if (quotient[0] == 0) {
    top = (static_cast<Wide>(quotient[1]) << 64) | quotient[2];
    // Here quotient[1] has its top bit set, since the quotient is at least 2^127.
    return Scale(high_word(top), low_word(top), exponent);
  }
  const int shift = std::countl_zero(quotient[0]);
  exponent += 64 - shift;
  if (shift != 0) top = (top << shift) | (quotient[2] >> (64 - shift));
  return Scale(high_word(top), low_word(top), exponent);
}

double Scale::to_double() const {
  // 64 bits are more than a double holds; rounding twice is at most one unit in the last place.
  return std::ldexp(static_cast<double>(high_), exponent_ + 64);
}

double Scale::log2() const { return std::log2(static_cast<double>(high_)) + exponent_ + 64; }

std::uint64_t Scale::whole() const {
  const int shift = -exponent_;
  if (shift >= 128) return 0;
  if (shift < 64) throw std::overflow_error("scale " + text() + " is 2^64 or more");
  return low_word(((static_cast<Wide>(high_) << 64) | low_) >> shift);
}

bool Scale::is_whole() const {
  const int shift = -exponent_;
  if (shift <= 0) return true;
  if (shift >= 128) return false;
  return (((static_cast<Wide>(high_) << 64) | low_) & ((Wide{1} << shift) - 1)) == 0;
}

std::string Scale::text() const {
  if (high_ == std::uint64_t{1} << 63 && low_ == 0) return fmt::format("2^{}", exponent_ + 127);
  return fmt::format("2^{:.4f}", log2());
}

}  // namespace fheres::scheme
