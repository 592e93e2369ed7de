#pragma once

#include <string>
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
  /// the name, the plaintext and the public key, so that one name never encrypts two messages, or one message under two
  /// keys, with the same randomness.
  Ciphertext encrypt(const PlaintextView& plaintext, std::string_view name) const;

 private:
  Context host_;
  PublicKey key_;
  std::string key_id_;
  Randomness randomness_;
};

/// Encrypts with the secret key, on the host: (e + m - a s, a), with less noise than the public key gives, and with the
/// uniform half a out of a public seed of its own. Keeps a reference to the key. Thread safe.
class SecretEncryptor {
 public:
  /// scheme::ParameterError where the randomness is a document's seed and the secret did not come from it.
  SecretEncryptor(Context host, const SecretKey& secret, Randomness randomness);

  /// A fresh ciphertext at the plaintext's level and scale, in either form: the full one is the seeded one
  /// expanded (ckks/expansion). From a document's seed everything is a function of the name and the plaintext.
  Ciphertext encrypt(const PlaintextView& plaintext, std::string_view name,
                     scheme::CiphertextForm form = scheme::CiphertextForm::full) const;

 private:
  Context host_;
  const SecretKey& secret_;
  Randomness randomness_;
};

}  // namespace fheres::ckks
