#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include <fheres/ckks/expansion.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

std::vector<scheme::ValueType> key_types(const scheme::Parameters& parameters, int level) {
  return {scheme::rotation_key_type(parameters, 3, level), scheme::conjugation_key_type(level),
          scheme::relinearization_key_type(level)};
}

ckks::SwitchingKey expanded(const World& w, const ckks::SwitchingKey& seeded, int level) {
  scheme::ValueType type = scheme::full_form(seeded.type());
  type.level = level;
  ckks::SwitchingKey full(w.parameters, type);
  std::ranges::fill(full.bytes(), std::byte{0xa5});
  ckks::expand(w.context, seeded.view(), full.ref(), {});
  return full;
}

// The limbs and digits that a key of a deeper level has, out of a full key.
ckks::SwitchingKey cut(const World& w, const ckks::SwitchingKey& full, int level) {
  scheme::ValueType type = full.type();
  type.level = level;
  ckks::SwitchingKey result(w.parameters, type);
  const std::size_t n = w.parameters.n();
  const auto rows = static_cast<std::size_t>(w.parameters.special_limbs() + w.parameters.limbs(level));
  const auto digits = static_cast<std::size_t>(w.parameters.digits(level));
  const auto all_digits = static_cast<std::size_t>(w.parameters.digits(full.type().level));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t component = 0; component < 2; ++component) {
      std::copy_n(full.view().data() + (2 * row + component) * all_digits * n, digits * n,
                  result.ref().data() + (2 * row + component) * digits * n);
    }
  }
  return result;
}

std::set<std::array<std::byte, 32>> seeds_of(const std::vector<std::span<const std::byte>>& values) {
  std::set<std::array<std::byte, 32>> seeds;
  for (const std::span<const std::byte> bytes : values) {
    std::array<std::byte, 32> seed{};
    std::ranges::copy(bytes.last(32), seed.begin());
    seeds.insert(seed);
  }
  return seeds;
}

}  // namespace

TEST_CASE("a full key is the seeded one expanded, bit for bit, for every kind and level") {
  for (const int special : {1, 2, 3}) {
    const World w(small_parameters(special, special));
    for (int level = 0; level <= w.parameters.max_level(); ++level) {
      for (const scheme::ValueType& type : key_types(w.parameters, level)) {
        const ckks::SwitchingKey full = w.keys.switching_key(w.secret, type, "key");
        const ckks::SwitchingKey seeded = w.keys.switching_key(w.secret, scheme::seeded_form(type), "key");
        CHECK(seeded.bytes().size() == full.bytes().size() / 2 + 32);
        CHECK(same_bytes(expanded(w, seeded, level).bytes(), full.bytes()));
      }
    }
  }
}

TEST_CASE("a seeded key expands to any deeper level: the cut of the full key") {
  const World w(small_parameters(2, 2));
  const scheme::ValueType type = scheme::rotation_key_type(w.parameters, 5, 1);
  const ckks::SwitchingKey full = w.keys.switching_key(w.secret, type, "key");
  const ckks::SwitchingKey seeded = w.keys.switching_key(w.secret, scheme::seeded_form(type), "key");
  for (int level = 1; level <= w.parameters.max_level(); ++level) {
    CAPTURE(level);
    CHECK(same_bytes(expanded(w, seeded, level).bytes(), cut(w, full, level).bytes()));
  }
}

TEST_CASE("a key expanded for a deeper level rotates there") {
  const World w(small_parameters(2, 2));
  const scheme::ValueType type = scheme::seeded_form(scheme::rotation_key_type(w.parameters, 5, 0));
  const ckks::SwitchingKey key = expanded(w, w.keys.switching_key(w.secret, type, "key"), 2);
  const std::vector<Complex> x = random_message(w.parameters.slots(), 50);
  std::vector<Complex> rotated(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) rotated[(i + 5) % x.size()] = x[i];
  const ckks::Ciphertext in = w.encrypt(x, 2);
  const ckks::Ciphertext out = w.apply(scheme::Operation::rotate, {&in}, nullptr, &key);
  CHECK(largest_error(w.decrypt(out), rotated) < 1e-6);
}

TEST_CASE("a fresh ciphertext of the secret key decrypts, in either form, and the forms are one ciphertext") {
  const World w(small_parameters());
  const ckks::SecretEncryptor encryptor(w.context, w.secret, w.randomness);
  for (int level = 0; level <= w.parameters.max_level(); ++level) {
    const std::vector<Complex> x = random_message(w.parameters.slots(), 51);
    const ckks::Plaintext plaintext = w.encode(x, level);
    const ckks::Ciphertext full = encryptor.encrypt(plaintext.view(), "x");
    const ckks::Ciphertext seeded = encryptor.encrypt(plaintext.view(), "x", scheme::CiphertextForm::seeded);
    CHECK(seeded.bytes().size() == full.bytes().size() / 2 + 32);
    CHECK(largest_error(w.decrypt(full), x) < 1e-8);
    ckks::Ciphertext out(w.parameters, full.type());
    ckks::expand(w.context, seeded.view(), out.ref(), {});
    CHECK(same_bytes(out.bytes(), full.bytes()));
  }
}

TEST_CASE("expansion refuses what does not match, with both figures") {
  const World w(small_parameters());
  const auto key = [&](const scheme::ValueType& type) { return ckks::SwitchingKey(w.parameters, type); };
  const scheme::ValueType rotation = scheme::rotation_key_type(w.parameters, 3, 1);
  ckks::SwitchingKey seeded = key(scheme::seeded_form(rotation));
  std::ranges::fill(seeded.bytes(), std::byte{0});
  const auto refused = [&](const ckks::SwitchingKey& from, ckks::SwitchingKey to) {
    CHECK_THROWS_AS(ckks::expand(w.context, from.view(), to.ref(), {}), scheme::ParameterError);
  };
  refused(seeded, key(scheme::seeded_form(rotation)));
  refused(key(rotation), key(rotation));
  refused(seeded, key(scheme::rotation_key_type(w.parameters, 3, 0)));
  refused(seeded, key(scheme::rotation_key_type(w.parameters, 4, 1)));
  refused(seeded, key(scheme::conjugation_key_type(1)));
  ckks::Ciphertext from(w.parameters, scheme::seeded_form(scheme::ciphertext_type(w.parameters, 0)));
  ckks::Ciphertext to(w.parameters, scheme::ciphertext_type(w.parameters, 1));
  CHECK_THROWS_AS(ckks::expand(w.context, from.view(), to.ref(), {}), scheme::ParameterError);
}

TEST_CASE("a seeded key or ciphertext is no operand of an operation") {
  const World w(small_parameters());
  const scheme::ValueType type = scheme::rotation_key_type(w.parameters, 3, 0);
  const ckks::SwitchingKey seeded = w.keys.switching_key(w.secret, scheme::seeded_form(type), "key");
  const ckks::Ciphertext x = w.encrypt(random_message(w.parameters.slots(), 52));
  CHECK_THROWS_WITH_AS(w.apply(scheme::Operation::rotate, {&x}, nullptr, &seeded),
                       doctest::Contains("seeded"), scheme::StateError);
  const ckks::Ciphertext half(w.parameters, scheme::seeded_form(x.type()));
  CHECK_THROWS_WITH_AS(w.apply(scheme::Operation::negate, {&half}), doctest::Contains("seeded"),
                       scheme::StateError);
}

TEST_CASE("no two seeded values of one run, or of two runs, share a public seed") {
  for (const bool from_document : {true, false}) {
    CAPTURE(from_document);
    std::vector<ckks::SwitchingKey> keys;
    std::vector<ckks::Ciphertext> ciphertexts;
    const scheme::Parameters parameters = small_parameters();
    for (const std::uint64_t document : {1, 2}) {
      const ckks::Context context = ckks::Context::on_host(parameters);
      const ckks::Randomness randomness =
          from_document ? ckks::Randomness::from_document(document) : ckks::Randomness::from_system();
      const ckks::KeyGenerator generator(context, randomness);
      const ckks::SecretKey secret = generator.secret_key();
      for (const int level : {0, 2}) {
        for (const char* name : {"a", "b"}) {
          for (scheme::ValueType type : key_types(parameters, level)) {
            keys.push_back(generator.switching_key(secret, scheme::seeded_form(type), name));
          }
          const scheme::ValueType other = scheme::rotation_key_type(parameters, 4, level);
          keys.push_back(generator.switching_key(secret, scheme::seeded_form(other), name));
        }
      }
      const ckks::SecretEncryptor encryptor(context, secret, randomness);
      const ckks::Encoder encoder(context);
      for (const unsigned message : {60u, 61u}) {
        const std::vector<Complex> x = random_message(parameters.slots(), message);
        const ckks::Plaintext plaintext =
            encoder.encode(std::span<const Complex>(x), 0, parameters.canonical_scale(0));
        for (const char* name : {"a", "b"}) {
          ciphertexts.push_back(encryptor.encrypt(plaintext.view(), name, scheme::CiphertextForm::seeded));
        }
      }
    }
    std::vector<std::span<const std::byte>> all;
    for (const auto& key : keys) all.push_back(key.bytes());
    for (const auto& ciphertext : ciphertexts) all.push_back(ciphertext.bytes());
    CHECK(seeds_of(all).size() == all.size());
    CHECK(all.size() == 40);
  }
}

TEST_CASE("what a document's seed derives is refused for any other secret") {
  const World a(small_parameters(), 0, 1);
  const World b(small_parameters(), 0, 2);
  CHECK_THROWS_AS(a.keys.rotation_key(b.secret, 1, 0, "r"), scheme::ParameterError);
  CHECK_THROWS_AS(a.keys.public_key(b.secret), scheme::ParameterError);
  CHECK_THROWS_AS(ckks::SecretEncryptor(a.context, b.secret, a.randomness), scheme::ParameterError);
  const ckks::KeyGenerator system(a.context, ckks::Randomness::from_system());
  const ckks::SecretKey other = system.secret_key();
  CHECK_THROWS_AS(a.keys.rotation_key(other, 1, 0, "r"), scheme::ParameterError);
  // Fresh entropy may serve any secret.
  CHECK_NOTHROW(system.rotation_key(a.secret, 1, 5, "r"));
}
