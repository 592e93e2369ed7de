#include <array>

#include <fheres/base/sha256.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/scheme/operation.hpp>

#include "ckks/sampling.hpp"
#include "ckks/validate.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

const memory::Stream kInline;

}  // namespace

Encryptor::Encryptor(Context host, PublicKey key, Randomness randomness)
    : host_(std::move(host)), key_(std::move(key)), randomness_(std::move(randomness)) {}

Ciphertext Encryptor::encrypt(const PlaintextView& plaintext, std::string_view name) const {
  require_prepared(plaintext.type());
  const scheme::Parameters& parameters = host_.parameters();
  const ring::Backend& backend = host_.backend();
  const std::size_t n = parameters.n();
  scheme::ValueType type = scheme::ciphertext_type(parameters, plaintext.type().level);
  type.scale = plaintext.type().scale;
  Ciphertext ciphertext(parameters, type);

  Sha256 hash;
  hash.add(std::as_bytes(
      std::span(plaintext.data(), scheme::bytes_of(parameters, plaintext.type()) / sizeof(std::uint64_t))));
  const std::string message = hash.finish() + parameters.id() + scheme::encode_metadata(parameters, type);
  const auto draw = [&](std::string_view purpose) {
    return randomness_.seed({.purpose = purpose,
                             .name = name,
                             .level = type.level,
                             .parameters = parameters.id(),
                             .detail = std::as_bytes(std::span(message))});
  };

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

}  // namespace fheres::ckks
