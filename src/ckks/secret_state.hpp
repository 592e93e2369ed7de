#pragma once

#include <fheres/ckks/keys.hpp>
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

  SecretWords words;
  std::size_t n;
  int primes;
};

}  // namespace fheres::ckks
