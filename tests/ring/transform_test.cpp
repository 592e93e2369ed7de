#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>
#include <fheres/ring/automorphism.hpp>

#include "ring/ring_support.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

std::uint64_t evaluate(const std::uint64_t* coefficients, std::size_t n, std::uint64_t x,
                       const scheme::Modulus& q) {
  std::uint64_t value = 0;
  for (std::size_t i = n; i-- > 0;) {
    value = scheme::add_mod(scheme::mul_mod(value, x, q), coefficients[i], q);
  }
  return value;
}

}  // namespace

TEST_CASE("the forward transform evaluates at odd powers of the smallest root, in bit-reversed order") {
  for (int log_n : {1, 2, 3, 6, 8}) {
    CAPTURE(log_n);
    const auto basis = small_basis(log_n, 2, 1, 1);
    const auto backend = ring::make_cpu_backend(basis, nullptr);
    std::mt19937_64 random(static_cast<unsigned>(log_n));
    Poly x = random_poly(*basis, 0, 3, 2, random);
    Poly y = x;
    y.view.data = y.words.data();
    backend->forward(y.view, {});
    for (int limb = 0; limb < 3; ++limb) {
      const scheme::Modulus& q = basis->prime(limb);
      const std::uint64_t psi = scheme::smallest_primitive_root(q.value, 2 * basis->n());
      for (int polynomial = 0; polynomial < 2; ++polynomial) {
        for (std::size_t i = 0; i < basis->n(); ++i) {
          const std::uint64_t e = 2 * ring::reverse_bits(static_cast<std::uint32_t>(i), log_n) + 1;
          CHECK(y.at(limb, polynomial, i) ==
                evaluate(x.view.at(limb, polynomial), basis->n(), scheme::pow_mod(psi, e, q), q));
        }
      }
    }
  }
}

TEST_CASE("the inverse transform undoes the forward one, in place and not, up to N = 2^13") {
  for (int log_n = 1; log_n <= 13; ++log_n) {
    CAPTURE(log_n);
    const auto basis = small_basis(log_n, 2, 1, 1);
    const auto backend = ring::make_cpu_backend(basis, nullptr);
    std::mt19937_64 random(100U + static_cast<unsigned>(log_n));
    const Poly x = random_poly(*basis, 0, 3, 2, random);
    Poly y = x;
    y.view.data = y.words.data();
    backend->forward(y.view, {});
    CHECK(y.words != x.words);
    Poly z(*basis, 0, 3, 2);
    backend->inverse(y.view, z.view, {});
    CHECK(z.words == x.words);
    backend->inverse(y.view, y.view, {});
    CHECK(y.words == x.words);
  }
}

TEST_CASE("a pointwise product of transforms is the negacyclic product") {
  for (int log_n : {2, 5, 8}) {
    const auto basis = small_basis(log_n, 2, 1, 1);
    const auto backend = ring::make_cpu_backend(basis, nullptr);
    std::mt19937_64 random(7);
    const std::size_t n = basis->n();
    Poly a = random_poly(*basis, 0, 3, 1, random);
    Poly b = random_poly(*basis, 0, 3, 1, random);
    Poly expected(*basis, 0, 3, 1);
    for (int limb = 0; limb < 3; ++limb) {
      const scheme::Modulus& q = basis->prime(limb);
      std::fill_n(expected.view.at(limb, 0), n, 0U);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const std::uint64_t product = scheme::mul_mod(a.at(limb, 0, i), b.at(limb, 0, j), q);
          std::uint64_t& place = expected.at(limb, 0, (i + j) % n);
          place = i + j < n ? scheme::add_mod(place, product, q) : scheme::sub_mod(place, product, q);
        }
      }
    }
    backend->forward(a.view, {});
    backend->forward(b.view, {});
    backend->multiply(a.view, b.view, a.view, {});
    backend->inverse(a.view, a.view, {});
    CHECK(a.words == expected.words);
  }
}

TEST_CASE("the automorphism's gather is X to X^g on coefficients") {
  const int log_n = 6;
  const auto basis = small_basis(log_n, 2, 1, 1);
  const auto backend = ring::make_cpu_backend(basis, nullptr);
  std::mt19937_64 random(8);
  const std::size_t n = basis->n();
  for (std::uint32_t g :
       {1U, 3U, 5U, 25U, ring::rotation_exponent(3, log_n), ring::conjugation_exponent(log_n)}) {
    CAPTURE(g);
    Poly x = random_poly(*basis, 0, 3, 2, random);
    Poly expected(*basis, 0, 3, 2);
    for (int limb = 0; limb < 3; ++limb) {
      for (int polynomial = 0; polynomial < 2; ++polynomial) {
        const std::uint64_t q = basis->prime(limb).value;
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t power = i * g % (2 * n);
          const std::uint64_t value = x.at(limb, polynomial, i);
          expected.at(limb, polynomial, power % n) = power < n || value == 0 ? value : q - value;
        }
      }
    }
    Poly y(*basis, 0, 3, 2);
    backend->forward(x.view, {});
    backend->automorphism(x.view, {g}, y.view, {});
    backend->inverse(y.view, y.view, {});
    CHECK(y.words == expected.words);
  }
}

TEST_CASE("rotation exponents compose, and a full turn is nothing") {
  for (int log_n : {4, 10, 14}) {
    const std::uint32_t mask = (2U << log_n) - 1;
    const std::int64_t slots = std::int64_t{1} << (log_n - 1);
    CHECK(ring::rotation_exponent(0, log_n) == 1);
    CHECK(ring::rotation_exponent(slots, log_n) == 1);
    CHECK(ring::rotation_exponent(-1, log_n) == 5);
    CHECK(ring::rotation_exponent(slots - 1, log_n) == 5);
    CHECK((ring::rotation_exponent(3, log_n) * ring::rotation_exponent(4, log_n) & mask) ==
          ring::rotation_exponent(7, log_n));
  }
}

TEST_CASE("work for a stream runs in its order, through the driver") {
  const auto driver = memory::make_stepped_driver();
  const auto basis = small_basis(5, 2, 1, 1);
  const auto backend = ring::make_cpu_backend(basis, driver);
  const memory::Stream stream = driver->make_stream(memory::Location::cuda(0), "compute");
  std::mt19937_64 random(9);
  Poly x = random_poly(*basis, 0, 3, 1, random);
  const Words before = x.words;
  backend->forward(x.view, stream);
  backend->inverse(x.view, x.view, stream);
  backend->negate(x.view, x.view, stream);
  CHECK(x.words == before);
  driver->step(stream);
  CHECK(x.words != before);
  driver->step(stream);
  CHECK(x.words == before);
  driver->synchronize(stream);
  CHECK(x.words != before);
}
