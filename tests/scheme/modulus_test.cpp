#include <random>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/scheme/modulus.hpp>

using namespace fheres::scheme;

namespace {
constexpr std::uint64_t kSeed = 7;
using Wide = unsigned __int128;
const std::uint64_t kPrimes[] = {3, 12289, 1099511480321, 1152921504606830593, 2305843009213693951};
}  // namespace

TEST_CASE("modular arithmetic agrees with 128-bit arithmetic on random operands") {
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (std::uint64_t prime : kPrimes) {
    CAPTURE(prime);
    const Modulus q = Modulus::make(prime);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t a = random() % prime, b = random() % prime;
      REQUIRE(add_mod(a, b, q) == static_cast<std::uint64_t>((static_cast<Wide>(a) + b) % prime));
      REQUIRE(add_mod(sub_mod(a, b, q), b, q) == a);
      REQUIRE(mul_mod(a, b, q) == static_cast<std::uint64_t>(static_cast<Wide>(a) * b % prime));
      if (a != 0) REQUIRE(mul_mod(a, inverse_mod(a, q), q) == 1);
    }
  }
}

TEST_CASE("reduction takes any 128-bit value, the extremes too") {
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (std::uint64_t prime : kPrimes) {
    CAPTURE(prime);
    const Modulus q = Modulus::make(prime);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t high = i == 0 ? ~std::uint64_t{0} : random();
      const std::uint64_t low = i < 2 ? ~std::uint64_t{0} : random();
      const Wide x = (static_cast<Wide>(high) << 64) | low;
      REQUIRE(reduce_128(high, low, q) == static_cast<std::uint64_t>(x % prime));
    }
  }
}

TEST_CASE("a modulus outside its range is refused, and so is the inverse of zero") {
  CHECK_THROWS_AS(Modulus::make(2), std::invalid_argument);
  CHECK_THROWS_AS(Modulus::make(std::uint64_t{1} << 61), std::invalid_argument);
  CHECK_THROWS_AS(inverse_mod(0, Modulus::make(12289)), std::invalid_argument);
  CHECK(Modulus::make(12289).bits() == 14);
}
