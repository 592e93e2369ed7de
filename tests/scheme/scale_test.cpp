#include <cmath>
#include <random>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/scheme/scale.hpp>

using namespace fheres::scheme;

TEST_CASE("powers of two are exact and print as such") {
  const Scale scale = Scale::power_of_two(40);
  CHECK(scale == Scale::from_integer(std::uint64_t{1} << 40));
  CHECK(scale.times(scale) == Scale::power_of_two(80));
  CHECK(scale.times(scale).over(std::uint64_t{1} << 40) == scale);
  CHECK(scale.text() == "2^40");
  CHECK(scale.to_double() == std::ldexp(1.0, 40));
  CHECK(scale.whole() == (std::uint64_t{1} << 40));
  CHECK(scale.is_whole());
  CHECK_THROWS_AS(Scale::power_of_two(64).whole(), std::overflow_error);
}

TEST_CASE("products and quotients agree with extended precision to its last bits") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t a = random() >> (random() % 60) | 1, b = random() >> (random() % 60) | 1;
    const Scale product = Scale::from_integer(a).times(Scale::from_integer(b));
    const long double exact = static_cast<long double>(a) * static_cast<long double>(b);
    REQUIRE(std::abs(static_cast<double>(product.to_double() / exact) - 1) < 1e-15);
    const Scale quotient = Scale::from_integer(a).over(b);
    REQUIRE(std::abs(static_cast<double>(quotient.to_double() * static_cast<long double>(b) / a) - 1) <
            1e-15);
    // A product by a 64-bit factor is exact in 128 bits, so dividing gives back what was there.
    REQUIRE(product.over(b) == Scale::from_integer(a));
    REQUIRE((quotient.mantissa_high() >> 63) == 1);
    REQUIRE((product.mantissa_high() >> 63) == 1);
    if (product.log2() < 63) REQUIRE(product.whole() == a * b);
  }
}

TEST_CASE("a scale with a fraction says so") {
  const Scale half = Scale::from_integer(7).over(2);
  CHECK(half.whole() == 3);
  CHECK_FALSE(half.is_whole());
  CHECK(half.text() == "2^1.8074");
  CHECK(Scale::from_parts(half.mantissa_high(), half.mantissa_low(), half.exponent()) == half);
  CHECK_THROWS_AS(Scale::from_parts(1, 0, 0), std::invalid_argument);
  CHECK_THROWS_AS(half.over(0), std::invalid_argument);
  CHECK_THROWS_AS(Scale::from_integer(0), std::invalid_argument);
}
