#include <fheres/ckks/keys.hpp>

#include "ckks/secret_state.hpp"

namespace fheres::ckks {

SecretKey::SecretKey(std::unique_ptr<State> state) : state_(std::move(state)) {}
SecretKey::SecretKey(SecretKey&&) noexcept = default;
SecretKey& SecretKey::operator=(SecretKey&&) noexcept = default;
SecretKey::~SecretKey() = default;

}  // namespace fheres::ckks
