#pragma once

#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/randomness.hpp>
#include <fheres/ring/poly.hpp>

#include "ckks/sampling.hpp"

namespace fheres::ckks {

/// The secret in the ntt domain over all primes of the basis, special primes first: [prime][N].
struct SecretKey::State {
  explicit State(const ring::Basis& basis)
      : words(static_cast<std::size_t>(basis.prime_count()) * basis.n()),
        n(basis.n()),
        primes(basis.prime_count()) {}

  ring::View view() const { return ring::dense_view(words.data(), 0, primes, 1, n); }

  /// Throws scheme::ParameterError where `randomness` is a document's seed and the secret did not come from it. What is
  /// derived from a seed must never be used with two secrets: the differences would give them away.
  void check_origin(const Randomness& randomness, const scheme::Parameters& parameters) const;

  SecretWords words;
  std::size_t n;
  int primes;
  Seed origin;  // names the document's seed that the secret came from; zero for any other secret
};

/// What names a document's seed, and tells nothing of it; zero for the system's randomness.
Seed origin_of(const Randomness& randomness, const scheme::Parameters& parameters);

}  // namespace fheres::ckks
