#include <doctest/doctest.h>

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/value_type.hpp>

#include "scheme/set_f.hpp"

using namespace fheres;
using namespace fheres::scheme;

TEST_CASE("values have the bytes of the design's table") {
  ValueType type;
  CHECK(bytes_of(set_f(), type) == 2 * kMiB);
  type.components = 3;
  type.level = 3;
  CHECK(bytes_of(set_f(), type) == 15 * 128 * kKiB);
  type = {};
  type.kind = Kind::plaintext;
  CHECK(bytes_of(set_f(), type) == 1 * kMiB);
  type.plaintext_form = PlaintextForm::prepared_qp;
  CHECK(bytes_of(set_f(), type) == 9 * 128 * kKiB);
  type.plaintext_form = PlaintextForm::compact;
  CHECK(bytes_of(set_f(), type) == 128 * kKiB);
  type = {};
  type.kind = Kind::rotation_key;
  type.steps = 1;
  CHECK(bytes_of(set_f(), type) == 18 * kMiB);
  type.key_form = KeyForm::seeded;
  CHECK(bytes_of(set_f(), type) == 9 * kMiB + 32);
  type.level = 7;  // one limb, one digit
  CHECK(bytes_of(set_f(), type) == 2 * 128 * kKiB + 32);
  CHECK(bytes_of(set_f(), seeded_form(ciphertext_type(set_f(), 3))) == 5 * 128 * kKiB + 32);
}

TEST_CASE("keys cut to a level have the sizes that the design quotes") {
  const Parameters big = Parameters::make(*find_preset("slots32768-scale40-levels34"));
  ValueType key;
  key.kind = Kind::rotation_key;
  key.steps = 1;
  CHECK(bytes_of(big, key) / 1000000 == 286);
  key.level = 35 - 17;
  CHECK(bytes_of(big, key) / 1000000 == 88);
  key.level = 35 - 8;
  CHECK(bytes_of(big, key) / 1000000 == 25);
}

TEST_CASE("metadata comes back as it was written") {
  ValueType type;
  type.kind = Kind::rotation_key;
  type.steps = 4095;
  type.level = 2;
  type.scale = set_f().canonical_scale(5);
  type.key_form = KeyForm::seeded;
  const std::string text = encode_metadata(set_f(), type);
  CHECK(decode_metadata(set_f(), text) == type);
  const Parameters other = Parameters::make(*find_preset("test-slots512-scale40-levels4"));
  CHECK_THROWS_WITH_AS(decode_metadata(other, text), doctest::Contains("the value was made for parameters"),
                       ParameterError);
}

TEST_CASE("keys and fresh ciphertexts have a seeded form, other values have none") {
  const ValueType ciphertext = ciphertext_type(set_f(), 2);
  for (const ValueType& type : {ciphertext, relinearization_key_type(1), rotation_key_type(set_f(), 3, 2)}) {
    const ValueType seeded = seeded_form(type);
    CHECK(is_seeded(seeded));
    CHECK_FALSE(is_seeded(type));
    CHECK(full_form(seeded) == type);
    CHECK(decode_metadata(set_f(), encode_metadata(set_f(), seeded)) == seeded);
  }
  ValueType wide = ciphertext;
  wide.components = 3;
  CHECK_THROWS_AS(seeded_form(wide), ParameterError);
  wide.ciphertext_form = CiphertextForm::seeded;
  CHECK_THROWS_AS(decode_metadata(set_f(), encode_metadata(set_f(), wide)), ParameterError);
  ValueType plaintext = plaintext_type(set_f(), 0, set_f().canonical_scale(0));
  CHECK_THROWS_AS(seeded_form(plaintext), ParameterError);
  plaintext.key_form = KeyForm::seeded;
  CHECK_THROWS_AS(decode_metadata(set_f(), encode_metadata(set_f(), plaintext)), ParameterError);
}

TEST_CASE("damaged metadata is refused, whatever part is damaged") {
  ValueType type;
  type.kind = Kind::rotation_key;
  type.steps = 1;
  const std::string good = encode_metadata(set_f(), type);
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_THROWS_AS(decode_metadata(set_f(), good.substr(0, length)), ParameterError);
  }
  CHECK_THROWS_AS(decode_metadata(set_f(), good + " steps=1"), ParameterError);
  CHECK_THROWS_AS(decode_metadata(set_f(), good + " colour=red"), ParameterError);
  type.level = 8;
  CHECK_THROWS_AS(decode_metadata(set_f(), encode_metadata(set_f(), type)), ParameterError);
}
