#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/scheme/modulus.hpp>
#include <fheres/scheme/primes.hpp>

using namespace fheres::scheme;

TEST_CASE("primality agrees with a sieve below 20000") {
  std::vector<bool> composite(20000);
  for (std::uint64_t i = 2; i < composite.size(); ++i) {
    CHECK(is_prime(i) == !composite[i]);
    for (std::uint64_t j = i * i; j < composite.size(); j += i) composite[j] = true;
  }
  CHECK_FALSE(is_prime(0));
  CHECK_FALSE(is_prime(1));
}

TEST_CASE("primality is exact where single bases are fooled") {
  CHECK_FALSE(is_prime(3215031751));           // passes bases 2, 3, 5, 7
  CHECK_FALSE(is_prime(3825123056546413051));  // passes the first nine primes
  CHECK(is_prime(2305843009213693951));        // 2^61 - 1
  CHECK(is_prime(18446744073709551557u));      // the largest below 2^64
}

TEST_CASE("the neighbouring primes are 1 modulo the step, and none is skipped") {
  const std::uint64_t step = 2048;
  const auto below = previous_prime(std::uint64_t{1} << 30, step, 3);
  const auto above = next_prime(std::uint64_t{1} << 30, step, std::uint64_t{1} << 31);
  REQUIRE(below);
  REQUIRE(above);
  CHECK(*below % step == 1);
  CHECK(*above % step == 1);
  for (std::uint64_t x = *below + step; x < *above; x += step) CHECK_FALSE(is_prime(x));
  CHECK(next_prime(*below, step, *above) == above);
  CHECK(previous_prime(*above, step, *below) == below);
  CHECK_FALSE(next_prime(*below, step, *above - 1));
  CHECK_FALSE(previous_prime(*above, step, *below + 1));
}

TEST_CASE("the root is primitive, and no smaller number is one") {
  const std::uint64_t prime = 12289;
  for (std::uint64_t order : {2u, 16u, 4096u}) {
    CAPTURE(order);
    const Modulus q = Modulus::make(prime);
    const std::uint64_t root = smallest_primitive_root(prime, order);
    CHECK(pow_mod(root, order / 2, q) == prime - 1);
    for (std::uint64_t x = 1; x < root; ++x) REQUIRE(pow_mod(x, order / 2, q) != prime - 1);
  }
  CHECK_THROWS_AS(smallest_primitive_root(prime, 8192), std::invalid_argument);
}
