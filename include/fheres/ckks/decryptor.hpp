#pragma once

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/plaintext.hpp>

namespace fheres::ckks {

/// Decrypts, on the host. Its results tell of the secret: they are for the key's owner. Keeps a reference to
/// the key.
class Decryptor {
 public:
  Decryptor(Context host, const SecretKey& secret);

  /// c0 + c1 s, and c2 s^2 where there are three components: a prepared plaintext of the same level and
  /// scale.
  Plaintext decrypt(const CiphertextView& ciphertext) const;

 private:
  Context host_;
  const SecretKey& secret_;
};

}  // namespace fheres::ckks
