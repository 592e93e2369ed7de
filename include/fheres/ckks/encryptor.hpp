#pragma once

#include <string_view>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/ckks/randomness.hpp>

namespace fheres::ckks {

/// Encrypts with the public key, on the host. Thread safe.
class Encryptor {
 public:
  Encryptor(Context host, PublicKey key, Randomness randomness);

  /// A fresh ciphertext at the plaintext's level and scale. From a document's seed the randomness depends on
  /// the name and the plaintext, so that one name never encrypts two messages with the same randomness.
  Ciphertext encrypt(const PlaintextView& plaintext, std::string_view name) const;

 private:
  Context host_;
  PublicKey key_;
  Randomness randomness_;
};

}  // namespace fheres::ckks
