#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/ckks/key_generator.hpp>
#include <fheres/ring/automorphism.hpp>

#include "ckks/inline_stream.hpp"
#include "ckks/secret_state.hpp"
#include "ckks/seeded_layout.hpp"

namespace fheres::ckks {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

}  // namespace

KeyGenerator::KeyGenerator(Context host, Randomness randomness)
    : host_(std::move(host)), randomness_(std::move(randomness)) {}

SecretKey KeyGenerator::secret_key() const {
  const ring::Basis& basis = host_.basis();
  auto state = std::make_unique<SecretKey::State>(basis);
  const SecretWords ternary(basis.n());
  const std::string& id = host_.parameters().id();
  sample_ternary(randomness_.seed({.purpose = "secret", .name = "", .level = 0, .parameters = id}),
                 ternary.integers());
  host_.backend().lift(ternary.integers().data(), state->view(), kInline);
  host_.backend().forward(state->view(), kInline);
  state->origin = origin_of(randomness_, host_.parameters());
  return SecretKey(std::move(state));
}

PublicKey KeyGenerator::public_key(const SecretKey& secret) const {
  secret.state_->check_origin(randomness_, host_.parameters());
  const ring::Basis& basis = host_.basis();
  const ring::Backend& backend = host_.backend();
  const std::string& id = host_.parameters().id();
  const int first = basis.special_limbs();
  const int limbs = basis.q_limbs();
  PublicKey key;
  key.words_.resize(size(limbs) * 2 * basis.n());
  const ring::View both = ring::dense_view(key.words_.data(), first, limbs, 2, basis.n());
  const ring::View b = both.polynomial_range(0, 1);
  const ring::View a = both.polynomial_range(1, 1);

  const Seed uniform = randomness_.seed({.purpose = "public-key", .name = "", .level = 0, .parameters = id});
  backend.expand(uniform.data(), 0, a, kInline);
  const SecretWords error(basis.n());
  sample_error(randomness_.seed({.purpose = "public-key-error", .name = "", .level = 0, .parameters = id}),
               error.integers());
  const SecretWords product(size(limbs) * basis.n());
  const ring::View as = ring::dense_view(product.data(), first, limbs, 1, basis.n());
  backend.multiply(a, secret.state_->view().limb_range(first, limbs), as, kInline);
  backend.lift(error.integers().data(), b, kInline);
  backend.forward(b, kInline);
  backend.subtract(b, as, b, kInline);
  return key;
}

SwitchingKey KeyGenerator::rotation_key(const SecretKey& secret, std::int64_t steps, int level,
                                        std::string_view name) const {
  return switching_key(secret, scheme::rotation_key_type(host_.parameters(), steps, level), name);
}

SwitchingKey KeyGenerator::conjugation_key(const SecretKey& secret, int level, std::string_view name) const {
  return switching_key(secret, scheme::conjugation_key_type(level), name);
}

SwitchingKey KeyGenerator::relinearization_key(const SecretKey& secret, int level,
                                               std::string_view name) const {
  return switching_key(secret, scheme::relinearization_key_type(level), name);
}

SwitchingKey KeyGenerator::switching_key(const SecretKey& secret, const scheme::ValueType& type,
                                         std::string_view name) const {
  const scheme::Parameters& parameters = host_.parameters();
  const ring::Basis& basis = host_.basis();
  const ring::Backend& backend = host_.backend();
  if (!scheme::is_key(type.kind)) {
    throw scheme::ParameterError(fmt::format("a {} is no key", scheme::name(type.kind)));
  }
  if (type.level < 0 || type.level > parameters.max_level()) {
    throw scheme::ParameterError(
        fmt::format("a key's level is {}, expected 0 to {}", type.level, parameters.max_level()));
  }
  secret.state_->check_origin(randomness_, parameters);
  const int k = basis.special_limbs();
  const int limbs = parameters.limbs(type.level);
  const int digits = parameters.digits(type.level);
  const int rows = k + limbs;

  // P s' over Q, where s' is what the key switches from.
  const ring::ConstView s = secret.state_->view().limb_range(0, rows);
  const SecretWords from_words(size(limbs) * basis.n());
  const ring::View from = ring::dense_view(from_words.data(), k, limbs, 1, basis.n());
  const ring::ConstView s_q = s.limb_range(k, limbs);
  if (type.kind == scheme::Kind::relinearization_key) {
    backend.multiply(s_q, s_q, from, kInline);
  } else {
    const std::uint32_t exponent = type.kind == scheme::Kind::rotation_key
                                       ? ring::rotation_exponent(type.steps, basis.log_n())
                                       : ring::conjugation_exponent(basis.log_n());
    backend.automorphism(s_q, {exponent}, from, kInline);
  }
  for (const scheme::Modulus& p : parameters.p()) backend.multiply_scalar(from, p.value, from, kInline);

  const std::string kind = fmt::format("{} {}", scheme::name(type.kind), type.steps);
  const Label label{.purpose = "key-uniform",
                    .name = name,
                    .level = type.level,
                    .parameters = parameters.id(),
                    .detail = std::as_bytes(std::span(kind))};
  const Seed uniform = randomness_.seed(label);
  SwitchingKey key(parameters, type);
  const Halves<std::uint64_t> parts = halves(host_, key.ref());
  if (parts.seed != nullptr) std::copy_n(uniform.data(), ring::kSeedBytes, parts.seed);
  // A seeded key has no room for its uniform half, and one digit of it is enough at a time.
  std::vector<std::uint64_t> digit_words(parts.seed != nullptr ? size(rows) * basis.n() : 0);
  const SecretWords error(basis.n());
  const SecretWords product_words(size(rows) * basis.n());
  const ring::View product = ring::dense_view(product_words.data(), 0, rows, 1, basis.n());
  for (int digit = 0; digit < digits; ++digit) {
    const ring::View b = parts.stored.polynomial_range(digit, 1);
    const ring::View a = parts.seed == nullptr ? parts.uniform.polynomial_range(digit, 1)
                                               : ring::dense_view(digit_words.data(), 0, rows, 1, basis.n());
    backend.expand(uniform.data(), digit, a, kInline);
    const std::string part = fmt::format("{} digit {}", kind, digit);
    Label error_label = label;
    error_label.purpose = "key-error";
    error_label.detail = std::as_bytes(std::span(part));
    sample_error(randomness_.seed(error_label), error.integers());
    backend.lift(error.integers().data(), b, kInline);
    backend.forward(b, kInline);
    backend.multiply(a, s, product, kInline);
    backend.subtract(b, product, b, kInline);
    const int first = digit * parameters.digit_limbs();
    const int count = std::min(parameters.digit_limbs(), limbs - first);
    const ring::View own = b.limb_range(k + first, count);
    backend.add(own, from.limb_range(first, count), own, kInline);
  }
  return key;
}

}  // namespace fheres::ckks
