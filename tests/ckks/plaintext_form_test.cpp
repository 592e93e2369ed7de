#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::PlaintextForm;

namespace {

ckks::Plaintext encoded(const World& w, const std::vector<Complex>& message, int level, PlaintextForm form,
                        std::uint64_t slots = 0) {
  return w.encoder.encode(std::span<const Complex>(message), level, w.parameters.canonical_scale(level),
                          {.form = form, .slots = slots});
}

}  // namespace

TEST_CASE("every form of a plaintext decodes to the message, and has the bytes of its formula") {
  const World w(small_parameters(2));
  const Bytes b = 8 * w.parameters.n();
  const std::vector<Complex> message = random_message(w.parameters.slots(), 80);
  for (int level : {0, 3, 5}) {
    const auto l = static_cast<Bytes>(w.parameters.limbs(level));
    for (const auto& [form, limbs] :
         {std::pair{PlaintextForm::prepared, l}, std::pair{PlaintextForm::prepared_qp, l + 2},
          std::pair{PlaintextForm::compact, Bytes{1}}}) {
      const ckks::Plaintext plaintext = encoded(w, message, level, form);
      CHECK(plaintext.bytes().size() == limbs * b);
      CHECK(largest_error(w.encoder.decode(plaintext.view()), message) < 1e-9);
    }
  }
}

TEST_CASE("a compact plaintext expands to the residues of the prepared ones, at its level and later ones") {
  const World w(small_parameters(2));
  const std::vector<Complex> message = random_message(w.parameters.slots(), 81);
  const scheme::Scale scale = w.parameters.canonical_scale(1);
  const ckks::Plaintext compact = encoded(w, message, 1, PlaintextForm::compact);
  for (int level : {1, 4}) {
    for (const PlaintextForm form : {PlaintextForm::prepared, PlaintextForm::prepared_qp}) {
      ckks::Plaintext out(w.parameters, scheme::plaintext_type(w.parameters, level, scale, form));
      w.evaluator.expand(compact.view(), out.ref(), {});
      const ckks::Plaintext expected =
          w.encoder.encode(std::span<const Complex>(message), level, scale, {.form = form});
      CHECK(same_bytes(out.bytes(), expected.bytes()));
    }
  }
  // The limbs over Q of one form are those of the other.
  const ckks::Plaintext q = encoded(w, message, 1, PlaintextForm::prepared);
  const ckks::Plaintext qp = encoded(w, message, 1, PlaintextForm::prepared_qp);
  CHECK(same_bytes(qp.bytes().subspan(2 * 8 * w.parameters.n()), q.bytes()));
}

TEST_CASE(
    "expansion refuses other forms, scales and earlier levels; operations refuse what is not prepared") {
  const World w(small_parameters());
  const std::vector<Complex> message = random_message(w.parameters.slots(), 82);
  const ckks::Plaintext compact = encoded(w, message, 1, PlaintextForm::compact);
  const ckks::Plaintext prepared = encoded(w, message, 1, PlaintextForm::prepared);
  const auto type = [&](int level, const scheme::Scale& scale, PlaintextForm form) {
    return scheme::plaintext_type(w.parameters, level, scale, form);
  };
  const scheme::Scale scale = compact.type().scale;
  for (const scheme::ValueType& to : {type(0, scale, PlaintextForm::prepared),
                                      type(1, scheme::Scale::power_of_two(41), PlaintextForm::prepared),
                                      type(1, scale, PlaintextForm::compact)}) {
    ckks::Plaintext out(w.parameters, to);
    CHECK_THROWS_AS(w.evaluator.expand(compact.view(), out.ref(), {}), scheme::StateError);
  }
  ckks::Plaintext out(w.parameters, prepared.type());
  CHECK_THROWS_AS(w.evaluator.expand(prepared.view(), out.ref(), {}), scheme::StateError);
  const ckks::Ciphertext a = w.encrypt(message, 1);
  CHECK_THROWS_AS(w.apply(scheme::Operation::add_plain, {&a}, &compact), scheme::StateError);
  CHECK_THROWS_AS(w.encryptor.encrypt(compact.view(), "x"), scheme::StateError);
  CHECK_THROWS_AS(w.encoder.encode(std::span<const Complex>(message), 0, scheme::Scale::power_of_two(70),
                                   {.form = PlaintextForm::compact}),
                  scheme::ParameterError);
}

TEST_CASE("a sparsely packed message repeats in all slots, and computes as such") {
  const World w(small_parameters());
  for (std::uint64_t slots : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{32}, w.parameters.slots()}) {
    CAPTURE(slots);
    const std::vector<Complex> message = random_message(slots, 83);
    const std::vector<Complex> repeated =
        each(std::vector<Complex>(w.parameters.slots()), [&](std::size_t i) { return message[i % slots]; });
    for (const PlaintextForm form : {PlaintextForm::prepared, PlaintextForm::compact}) {
      const ckks::Plaintext plaintext = encoded(w, message, 0, form, slots);
      CHECK(largest_error(w.encoder.decode(plaintext.view()), repeated) < 1e-10);
      CHECK(largest_error(w.encoder.decode(plaintext.view(), slots), message) < 1e-10);
    }
    const ckks::Ciphertext a =
        w.encryptor.encrypt(encoded(w, message, 0, PlaintextForm::prepared, slots).view(), "x");
    const ckks::Plaintext decrypted = w.decryptor.decrypt(a.view());
    CHECK(largest_error(w.encoder.decode(decrypted.view()), repeated) < 1e-7);
    CHECK(largest_error(w.encoder.decode(decrypted.view(), slots), message) < 1e-7);
  }
  const std::vector<Complex> two = random_message(2, 84);
  CHECK_THROWS_AS(encoded(w, two, 0, PlaintextForm::prepared, 3), scheme::ParameterError);
  CHECK_THROWS_AS(encoded(w, two, 0, PlaintextForm::prepared, 1), scheme::ParameterError);
  CHECK_THROWS_AS(encoded(w, two, 0, PlaintextForm::prepared, 2 * w.parameters.slots()),
                  scheme::ParameterError);
  CHECK_THROWS_AS(w.encoder.decode(encoded(w, two, 0, PlaintextForm::prepared).view(), 5),
                  scheme::ParameterError);
}
