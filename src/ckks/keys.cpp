#include <fheres/ckks/keys.hpp>

#include "ckks/secret_state.hpp"

namespace fheres::ckks {

SecretKey::SecretKey(std::unique_ptr<State> state) : state_(std::move(state)) {}
SecretKey::SecretKey(SecretKey&&) noexcept = default;
SecretKey& SecretKey::operator=(SecretKey&&) noexcept = default;
SecretKey::~SecretKey() = default;

Seed origin_of(const Randomness& randomness, const scheme::Parameters& parameters) {
  if (!randomness.reproducible()) return {};
  return randomness.seed({.purpose = "secret-origin", .name = "", .level = 0, .parameters = parameters.id()});
}

void SecretKey::State::check_origin(const Randomness& randomness,
                                    const scheme::Parameters& parameters) const {
  if (!randomness.reproducible() || origin_of(randomness, parameters).bytes == origin.bytes) return;
  throw scheme::ParameterError(
      "a document's seed makes keys and encryptions only for the secret that came from it, and this is "
      "another");
}

}  // namespace fheres::ckks
