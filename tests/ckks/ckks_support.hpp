#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include <fheres/ckks/decryptor.hpp>
#include <fheres/ckks/encoder.hpp>
#include <fheres/ckks/encryptor.hpp>
#include <fheres/ckks/evaluator.hpp>
#include <fheres/ckks/key_generator.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/sizes.hpp>

namespace fheres::test {

using Complex = std::complex<double>;

/// Small and insecure: N = 2^10, Q 60 + 5x40, P `special` x 60.
inline scheme::Parameters small_parameters(
    int special = 1, int digit_limbs = 0,
    scheme::ScaleManagement scales = scheme::ScaleManagement::automatic) {
  scheme::ParametersLiteral literal;
  literal.log_n = 10;
  literal.q = {{60, {}}, {40, {}}, {40, {}}, {40, {}}, {40, {}}, {40, {}}};
  literal.p.assign(static_cast<std::size_t>(special), {60, {}});
  literal.scale_bits = 40;
  literal.digit_limbs = digit_limbs;
  literal.security = scheme::SecurityTable::none;
  literal.scale_management = scales;
  return scheme::Parameters::make(literal);
}

inline std::vector<Complex> random_message(std::size_t slots, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(-1.0, 1.0);
  std::vector<Complex> message(slots);
  for (Complex& value : message) value = {draw(random), draw(random)};
  return message;
}

inline double largest_error(const std::vector<Complex>& got, const std::vector<Complex>& expected) {
  double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) error = std::max(error, std::abs(got[i] - expected[i]));
  return error;
}

/// A message slot by slot, as a function of the slot's number.
template <class Formula>
std::vector<Complex> each(const std::vector<Complex>& message, Formula formula) {
  std::vector<Complex> result(message.size());
  for (std::size_t i = 0; i < message.size(); ++i) result[i] = formula(i);
  return result;
}

/// Slot i of the message goes to slot i + steps.
inline std::vector<Complex> rotated(const std::vector<Complex>& message, std::int64_t steps) {
  const auto slots = static_cast<std::int64_t>(message.size());
  return each(message, [&](std::size_t i) {
    return message[static_cast<std::size_t>(((static_cast<std::int64_t>(i) - steps) % slots + slots) %
                                            slots)];
  });
}

/// A client and an evaluator in one place, with convenience forms that poison outputs and workspace first.
struct World {
  scheme::Parameters parameters;
  ckks::Context context;
  ckks::Randomness randomness;
  ckks::KeyGenerator keys;
  ckks::SecretKey secret;
  ckks::Encoder encoder;
  ckks::Encryptor encryptor;
  ckks::Decryptor decryptor;
  ckks::Evaluator evaluator;

  explicit World(scheme::Parameters p, int group = 0, std::uint64_t seed = 1)
      : parameters(std::move(p)),
        context(ckks::Context::on_host(parameters)),
        randomness(ckks::Randomness::from_document(seed)),
        keys(context, randomness),
        secret(keys.secret_key()),
        encoder(context),
        encryptor(context, keys.public_key(secret), randomness),
        decryptor(context, secret),
        evaluator(context, group) {}

  ckks::Plaintext encode(const std::vector<Complex>& message, int level = 0) const {
    return encoder.encode(std::span<const Complex>(message), level, parameters.canonical_scale(level));
  }
  ckks::Ciphertext encrypt(const std::vector<Complex>& message, int level = 0) const {
    return encryptor.encrypt(encode(message, level).view(), "x");
  }
  std::vector<Complex> decrypt(const ckks::Ciphertext& ciphertext) const {
    return encoder.decode(decryptor.decrypt(ciphertext.view()).view());
  }

  ckks::Ciphertext apply(scheme::Operation operation, std::vector<const ckks::Ciphertext*> in,
                         const ckks::Plaintext* plaintext = nullptr, const ckks::SwitchingKey* key = nullptr,
                         const scheme::Scalar* scalar = nullptr) const {
    std::vector<ckks::CiphertextView> views;
    std::vector<scheme::ValueType> types;
    for (const ckks::Ciphertext* operand : in) {
      views.push_back(operand->view());
      types.push_back(operand->type());
    }
    if (plaintext != nullptr) types.push_back(plaintext->type());
    const scheme::Signature signature = scheme::infer(
        parameters, operation, types, key == nullptr ? nullptr : &key->type(), evaluator.group(), scalar);
    ckks::Ciphertext out(parameters, signature.result);
    std::ranges::fill(out.bytes(), std::byte{0xa5});
    ckks::Operands operands{views};
    operands.scalar = scalar;
    std::optional<ckks::PlaintextView> plain;
    if (plaintext != nullptr) operands.plaintext = &plain.emplace(plaintext->view());
    std::optional<ckks::KeyView> key_view;
    if (key != nullptr) operands.key = &key_view.emplace(key->view());
    with_workspace(signature.workspace, [&](ckks::Workspace workspace) {
      evaluator.apply(operation, operands, out.ref(), workspace, {});
    });
    return out;
  }

  ckks::Ciphertext run(const scheme::Circuit& circuit, const ckks::Ciphertext& a,
                       const std::vector<ckks::KeyView>& views) const {
    ckks::Ciphertext out(parameters, circuit.signature().result);
    std::ranges::fill(out.bytes(), std::byte{0xa5});
    with_workspace(circuit.signature().workspace, [&](ckks::Workspace workspace) {
      evaluator.run(circuit, a.view(), views, out.ref(), workspace, {});
    });
    return out;
  }

  /// Calls body with so many bytes of garbage. Words on both sides of them must survive.
  template <class Body>
  void with_workspace(Bytes size, Body body) const {
    std::vector<std::uint64_t> storage(size / 8 + 64, 0xdeadbeefdeadbeefU);
    body(std::as_writable_bytes(std::span(storage)).subspan(32 * 8, size));
    for (std::size_t i = 0; i < 32; ++i) {
      if (storage[i] != 0xdeadbeefdeadbeefU || storage[storage.size() - 1 - i] != 0xdeadbeefdeadbeefU) {
        throw std::logic_error("workspace was overrun");
      }
    }
  }
};

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

}  // namespace fheres::test
