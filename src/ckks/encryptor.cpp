#include <algorithm>
#include <array>
#include <vector>

#include <fheres/base/sha256.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/scheme/operation.hpp>

#include "ckks/inline_stream.hpp"
#include "ckks/sampling.hpp"
#include "ckks/secret_state.hpp"
#include "ckks/seeded_layout.hpp"
#include "ckks/validate.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

std::string hash_of(std::span<const std::uint64_t> words) {
  Sha256 hash;
  hash.add(std::as_bytes(words));
  return hash.finish();
}

/// The seeds of one encryption: a function of everything that may differ between two of one name.
class Draws {
 public:
  Draws(const Context& host, const Randomness& randomness, const PlaintextView& plaintext,
        const scheme::ValueType& type, std::string_view name, std::string_view key)
      : randomness_(randomness), parameters_(host.parameters().id()), type_(type), name_(name) {
    if (!randomness.reproducible()) return;
    const Bytes bytes = scheme::bytes_of(host.parameters(), plaintext.type());
    detail_ = hash_of({plaintext.data(), bytes / sizeof(std::uint64_t)});
    detail_ += scheme::encode_metadata(host.parameters(), type);
    detail_ += key;
  }
  Seed operator()(std::string_view purpose) const {
    return randomness_.seed({.purpose = purpose,
                             .name = name_,
                             .level = type_.level,
                             .parameters = parameters_,
                             .detail = std::as_bytes(std::span(detail_))});
  }

 private:
  const Randomness& randomness_;
  const std::string& parameters_;
  const scheme::ValueType& type_;
  std::string_view name_;
  std::string detail_;
};

scheme::ValueType fresh_type(const Context& host, const PlaintextView& plaintext) {
  require_prepared(plaintext.type());
  scheme::ValueType type = scheme::ciphertext_type(host.parameters(), plaintext.type().level);
  type.scale = plaintext.type().scale;
  return type;
}

}  // namespace

Encryptor::Encryptor(Context host, PublicKey key, Randomness randomness)
    : host_(std::move(host)), key_(std::move(key)), randomness_(std::move(randomness)) {
  if (randomness_.reproducible()) key_id_ = hash_of(key_.words());
}

Ciphertext Encryptor::encrypt(const PlaintextView& plaintext, std::string_view name) const {
  const scheme::Parameters& parameters = host_.parameters();
  const ring::Backend& backend = host_.backend();
  const std::size_t n = parameters.n();
  const scheme::ValueType type = fresh_type(host_, plaintext);
  Ciphertext ciphertext(parameters, type);
  const Draws draw(host_, randomness_, plaintext, type, name, key_id_);

  const ring::View out = ring_view(host_, ciphertext.ref());
  const SecretWords small(n);
  const SecretWords u_words(static_cast<std::size_t>(out.limbs) * n);
  const ring::View u = ring::dense_view(u_words.data(), out.first_prime, out.limbs, 1, n);
  sample_ternary(draw("encryption-secret"), small.integers());
  backend.lift(small.integers().data(), u, kInline);
  backend.forward(u, kInline);
  const std::array<std::string_view, 2> errors{"encryption-error-0", "encryption-error-1"};
  for (int component = 0; component < 2; ++component) {
    const ring::View c = out.polynomial_range(component, 1);
    sample_error(draw(errors[static_cast<std::size_t>(component)]), small.integers());
    backend.lift(small.integers().data(), c, kInline);
  }
  backend.forward(out, kInline);
  const ring::ConstView key = ring::dense_view(key_.words().data(), out.first_prime, out.limbs, 2, n);
  backend.multiply_add(key, u, out, kInline);
  backend.add(out, ring_view(host_, plaintext), out, kInline);
  return ciphertext;
}

SecretEncryptor::SecretEncryptor(Context host, const SecretKey& secret, Randomness randomness)
    : host_(std::move(host)), secret_(secret), randomness_(std::move(randomness)) {
  secret_.state_->check_origin(randomness_, host_.parameters());
}

Ciphertext SecretEncryptor::encrypt(const PlaintextView& plaintext, std::string_view name,
                                    scheme::CiphertextForm form) const {
  const scheme::Parameters& parameters = host_.parameters();
  const ring::Backend& backend = host_.backend();
  const std::size_t n = parameters.n();
  const scheme::ValueType type = fresh_type(host_, plaintext);
  const bool seeded = form == scheme::CiphertextForm::seeded;
  Ciphertext ciphertext(parameters, seeded ? scheme::seeded_form(type) : type);
  const Draws draw(host_, randomness_, plaintext, type, name, {});

  const Halves<std::uint64_t> parts = halves(host_, ciphertext.ref());
  const ring::View c0 = parts.stored;
  std::vector<std::uint64_t> words(seeded ? static_cast<std::size_t>(c0.limbs) * n : 0);
  const ring::View a =
      seeded ? ring::dense_view(words.data(), c0.first_prime, c0.limbs, 1, n) : parts.uniform;
  const Seed uniform = draw("ciphertext-uniform");
  if (seeded) std::copy_n(uniform.data(), ring::kSeedBytes, parts.seed);
  backend.expand(uniform.data(), 0, a, kInline);
  const SecretWords error(n);
  sample_error(draw("ciphertext-error"), error.integers());
  const SecretWords product_words(static_cast<std::size_t>(c0.limbs) * n);
  const ring::View product = ring::dense_view(product_words.data(), c0.first_prime, c0.limbs, 1, n);
  backend.multiply(a, secret_.state_->view().limb_range(c0.first_prime, c0.limbs), product, kInline);
  backend.lift(error.integers().data(), c0, kInline);
  backend.forward(c0, kInline);
  backend.subtract(c0, product, c0, kInline);
  backend.add(c0, ring_view(host_, plaintext), c0, kInline);
  return ciphertext;
}

}  // namespace fheres::ckks
