#pragma once

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/plaintext.hpp>

/// CKKS values as views of the ring: over Q limbs 0 .. l-1, of a prepared_qp plaintext over P and those.
namespace fheres::ckks {

template <class Word>
ring::BasicView<Word> ring_view(const Context& context, const ValueView<Family::ciphertext, Word>& value) {
  const scheme::Parameters& parameters = context.parameters();
  return ring::dense_view(value.data(), parameters.special_limbs(), parameters.limbs(value.type().level),
                          value.type().components, parameters.n());
}

template <class Word>
ring::BasicView<Word> ring_view(const Context& context, const ValueView<Family::plaintext, Word>& value) {
  const scheme::Parameters& parameters = context.parameters();
  const int special = parameters.special_limbs();
  const bool extended = value.type().basis == scheme::Basis::qp;
  return ring::dense_view(value.data(), extended ? 0 : special,
                          parameters.limbs(value.type().level) + (extended ? special : 0), 1, parameters.n());
}

}  // namespace fheres::ckks
