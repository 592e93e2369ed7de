#include <set>

#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

// The first word of the uniform half of each digit and prime.
std::set<std::uint64_t> uniform_words(const World& w, const ckks::SwitchingKey& key) {
  const std::size_t n = w.parameters.n();
  const int level = key.type().level;
  const auto digits = static_cast<std::size_t>(w.parameters.digits(level));
  const auto rows = static_cast<std::size_t>(w.parameters.limbs(level) + w.parameters.special_limbs());
  std::set<std::uint64_t> words;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t digit = 0; digit < digits; ++digit) {
      words.insert(key.view().data()[(row * 2 * digits + digits + digit) * n]);
    }
  }
  CHECK(words.size() == rows * digits);
  return words;
}

}  // namespace

TEST_CASE("one document seed gives the same bytes every time, another gives others") {
  const World a(small_parameters(), 0, 5);
  const World b(small_parameters(), 0, 5);
  const World c(small_parameters(), 0, 6);
  const std::vector<Complex> x = random_message(a.parameters.slots(), 40);
  const auto key = [](const World& w) { return w.keys.rotation_key(w.secret, 1, 0, "rot"); };
  CHECK(same_bytes(key(a).bytes(), key(b).bytes()));
  CHECK_FALSE(same_bytes(key(a).bytes(), key(c).bytes()));
  CHECK(same_bytes(a.encrypt(x).bytes(), b.encrypt(x).bytes()));
  CHECK_FALSE(same_bytes(a.encrypt(x).bytes(), c.encrypt(x).bytes()));
}

TEST_CASE("one name never encrypts two messages with the same randomness") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 41);
  std::vector<Complex> y = x;
  y[0] += 1;
  const ckks::Ciphertext a = w.encrypt(x);
  const ckks::Ciphertext b = w.encrypt(y);
  // The second component holds no message: equal only if the randomness is.
  const std::size_t n = w.parameters.n();
  CHECK_FALSE(std::equal(a.view().data() + n, a.view().data() + 2 * n, b.view().data() + n));
}

TEST_CASE("two keys share no uniform half, and neither do two digits or primes of one") {
  const World w(small_parameters());
  std::set<std::uint64_t> all;
  std::size_t expected = 0;
  const auto add = [&](const ckks::SwitchingKey& key) {
    const std::set<std::uint64_t> words = uniform_words(w, key);
    expected += words.size();
    all.insert(words.begin(), words.end());
  };
  add(w.keys.rotation_key(w.secret, 1, 0, "a"));
  add(w.keys.rotation_key(w.secret, 1, 0, "b"));
  add(w.keys.rotation_key(w.secret, 2, 0, "a"));
  add(w.keys.rotation_key(w.secret, 1, 1, "a"));
  add(w.keys.conjugation_key(w.secret, 0, "a"));
  add(w.keys.relinearization_key(w.secret, 0, "a"));
  const World other(small_parameters(), 0, 2);
  add(other.keys.rotation_key(other.secret, 1, 0, "a"));
  CHECK(all.size() == expected);
}

TEST_CASE("rotation steps are taken modulo the slots, and none is refused") {
  const World w(small_parameters());
  CHECK(w.keys.rotation_key(w.secret, -1, 3, "r").type().steps == 511);
  CHECK(w.keys.rotation_key(w.secret, 513, 3, "r").type().steps == 1);
  CHECK_THROWS_AS(w.keys.rotation_key(w.secret, 512, 0, "r"), scheme::ParameterError);
  CHECK_THROWS_AS(w.keys.rotation_key(w.secret, 1, 6, "r"), scheme::ParameterError);
  CHECK_THROWS_AS(w.keys.rotation_key(w.secret, 1, -1, "r"), scheme::ParameterError);
}

TEST_CASE("system randomness works as well, and never twice the same") {
  const scheme::Parameters parameters = small_parameters();
  const ckks::Context context = ckks::Context::on_host(parameters);
  const ckks::Randomness randomness = ckks::Randomness::from_system();
  const ckks::KeyGenerator keys(context, randomness);
  const ckks::SecretKey secret = keys.secret_key();
  const ckks::Encryptor encryptor(context, keys.public_key(secret), randomness);
  const ckks::Decryptor decryptor(context, secret);
  const ckks::Encoder encoder(context);
  const std::vector<Complex> x = random_message(parameters.slots(), 42);
  const ckks::Plaintext plaintext =
      encoder.encode(std::span<const Complex>(x), 0, parameters.canonical_scale(0));
  const ckks::Ciphertext a = encryptor.encrypt(plaintext.view(), "x");
  const ckks::Ciphertext b = encryptor.encrypt(plaintext.view(), "x");
  CHECK_FALSE(same_bytes(a.bytes(), b.bytes()));
  CHECK(largest_error(encoder.decode(decryptor.decrypt(a.view()).view()), x) < 1e-7);
  const ckks::SecretKey another = keys.secret_key();
  const ckks::Decryptor wrong(context, another);
  CHECK(largest_error(encoder.decode(wrong.decrypt(a.view()).view()), x) > 1);
}
