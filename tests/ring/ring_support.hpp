#pragma once

#include <random>
#include <stdexcept>
#include <vector>

#include <fheres/ring/backend.hpp>
#include <fheres/scheme/primes.hpp>

#include "support/big.hpp"

namespace fheres::test {

using Words = std::vector<std::uint64_t>;

/// The `count` largest primes below 2^bits that are 1 mod 2N, after skipping some.
inline std::vector<scheme::Modulus> ntt_primes(int log_n, int bits, int count, int skip = 0) {
  std::vector<scheme::Modulus> primes;
  std::uint64_t below = std::uint64_t{1} << bits;
  for (int i = 0; i < skip + count; ++i) {
    const auto prime =
        scheme::previous_prime(below, std::uint64_t{2} << log_n, std::uint64_t{1} << (bits - 1));
    if (!prime) throw std::invalid_argument("too few primes of that size");
    if (i >= skip) primes.push_back(scheme::Modulus::make(*prime));
    below = *prime;
  }
  return primes;
}

/// A basis of one base prime of 60 bits, scale primes of 40, and special primes of 60.
inline std::shared_ptr<const ring::Basis> small_basis(int log_n, int q_limbs, int special, int digit_limbs) {
  std::vector<scheme::Modulus> q = ntt_primes(log_n, 60, 1, special);
  const std::vector<scheme::Modulus> scale = ntt_primes(log_n, 40, q_limbs - 1);
  q.insert(q.end(), scale.begin(), scale.end());
  return ring::Basis::make(log_n, q, ntt_primes(log_n, 60, special), digit_limbs);
}

/// Owns the words behind a dense view, full of garbage at first.
struct Poly {
  Words words;
  ring::View view;
  Poly(const ring::Basis& basis, int first_prime, int limbs, int polynomials)
      : words(static_cast<std::size_t>(limbs) * static_cast<std::size_t>(polynomials) * basis.n(),
              0xdeadbeefdeadbeefU),
        view(ring::dense_view(words.data(), first_prime, limbs, polynomials, basis.n())) {}
  std::uint64_t& at(int limb, int polynomial, std::size_t i) { return view.at(limb, polynomial)[i]; }
};

/// Canonical uniform residues, with the ends of the range among them.
inline void randomize(const ring::Basis& basis, ring::View view, std::mt19937_64& random) {
  for (int limb = 0; limb < view.limbs; ++limb) {
    const std::uint64_t q = basis.prime(view.first_prime + limb).value;
    for (int polynomial = 0; polynomial < view.polynomials; ++polynomial) {
      for (std::size_t i = 0; i < basis.n(); ++i) {
        const std::uint64_t draw = random();
        view.at(limb, polynomial)[i] = draw % 16 == 0 ? (draw & 16U ? 0 : q - 1) : random() % q;
      }
    }
  }
}
inline Poly random_poly(const ring::Basis& basis, int first_prime, int limbs, int polynomials,
                        std::mt19937_64& random) {
  Poly poly(basis, first_prime, limbs, polynomials);
  randomize(basis, poly.view, random);
  return poly;
}

/// The integer in [0, product) with these residues.
inline Big compose(const std::vector<scheme::Modulus>& primes, const Words& residues) {
  Big product = 1;
  for (const scheme::Modulus& q : primes) product = product * q.value;
  Big sum;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const Big others = product / primes[i].value;
    const std::uint64_t inverse = scheme::inverse_mod(others % primes[i].value, primes[i]);
    sum = sum + others * scheme::mul_mod(residues[i], inverse, primes[i]);
  }
  return sum % product;
}

inline Big product_of(const std::vector<scheme::Modulus>& primes) {
  Big product = 1;
  for (const scheme::Modulus& q : primes) product = product * q.value;
  return product;
}

}  // namespace fheres::test
