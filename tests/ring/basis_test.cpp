#include <doctest/doctest.h>

#include "ring/ring_support.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("a basis counts special primes first, and refuses primes that cannot serve") {
  const auto basis = small_basis(6, 4, 2, 3);
  CHECK(basis->special_limbs() == 2);
  CHECK(basis->q_limbs() == 4);
  CHECK(basis->digits(3) == 1);
  CHECK(basis->digits(4) == 2);
  CHECK(basis->prime(0).bits() == 60);
  CHECK(basis->prime(3).bits() == 40);

  const std::vector<scheme::Modulus> q = ntt_primes(6, 40, 2);
  CHECK_THROWS_AS(ring::Basis::make(0, q, {}, 1), std::invalid_argument);
  CHECK_THROWS_AS(ring::Basis::make(6, {}, {}, 1), std::invalid_argument);
  CHECK_THROWS_AS(ring::Basis::make(6, q, q, 1), std::invalid_argument);
  CHECK_THROWS_AS(ring::Basis::make(6, q, {}, 0), std::invalid_argument);
  const std::vector<scheme::Modulus> wrong{scheme::Modulus::make(97)};  // 1 mod 32, not mod 128
  CHECK_THROWS_AS(ring::Basis::make(6, wrong, {}, 1), std::invalid_argument);
}

TEST_CASE("the reported table bytes are four limbs a prime and the conversion constants") {
  const auto basis = small_basis(10, 4, 2, 2);
  const auto backend = ring::make_cpu_backend(basis, nullptr);
  const Bytes roots = 4 * 8 * basis->n() * 6;
  CHECK(backend->table_bytes() > roots);
  CHECK(backend->table_bytes() < roots + 8 * kKiB);
}

TEST_CASE("reductions agree with division") {
  std::mt19937_64 random(5);
  for (int bits : {20, 33, 40, 50, 60}) {
    for (const scheme::Modulus& q : ntt_primes(4, bits, 3)) {
      for (int i = 0; i < 2000; ++i) {
        const unsigned __int128 wide = (static_cast<unsigned __int128>(random()) << 64) | random();
        const unsigned __int128 x = i % 3 == 0 ? ~wide >> (i % 7 * 16) : wide >> (i % 64);
        CHECK(ring::reduce_wide(x, q) == static_cast<std::uint64_t>(x % q.value));
        const auto word = static_cast<std::uint64_t>(x);
        CHECK(ring::reduce_word(word, q) == word % q.value);
        const std::uint64_t factor = random() % q.value;
        CHECK(ring::mul_shoup(word, ring::make_shoup(factor, q.value), q.value) ==
              static_cast<std::uint64_t>(static_cast<unsigned __int128>(word) * factor % q.value));
      }
      CHECK(ring::reduce_wide(~static_cast<unsigned __int128>(0), q) ==
            static_cast<std::uint64_t>(~static_cast<unsigned __int128>(0) % q.value));
    }
  }
}
