#include <fheres/ckks/decryptor.hpp>

#include "ckks/secret_state.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {

Decryptor::Decryptor(Context host, const SecretKey& secret) : host_(std::move(host)), secret_(secret) {}

Plaintext Decryptor::decrypt(const CiphertextView& ciphertext) const {
  const ring::Backend& backend = host_.backend();
  const memory::Stream now;
  const scheme::ValueType& type = ciphertext.type();
  Plaintext plaintext(host_.parameters(), scheme::plaintext_type(host_.parameters(), type.level, type.scale));
  const ring::View out = ring_view(host_, plaintext.ref());
  const ring::ConstView in = ring_view(host_, ciphertext);
  const ring::ConstView s = secret_.state_->view().limb_range(in.first_prime, in.limbs);
  // Horner: ((c2 s) + c1) s + c0. What stands in between would give the secret away, and is overwritten.
  backend.copy(in.polynomial_range(in.polynomials - 1, 1), out, now);
  for (int component = in.polynomials - 2; component >= 0; --component) {
    backend.multiply(out, s, out, now);
    backend.add(out, in.polynomial_range(component, 1), out, now);
  }
  return plaintext;
}

}  // namespace fheres::ckks
