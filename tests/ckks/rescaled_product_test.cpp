#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;

TEST_CASE("multiply, relinearize and rescale in one give the residues of the three, for every group size") {
  for (const auto& [special, digit_limbs] : {std::pair{1, 0}, std::pair{2, 2}, std::pair{3, 4}}) {
    const scheme::Parameters parameters = small_parameters(special, digit_limbs);
    const World whole(parameters);
    const std::vector<Complex> x = random_message(parameters.slots(), 50);
    const std::vector<Complex> y = random_message(parameters.slots(), 51);
    const ckks::SwitchingKey key = whole.keys.relinearization_key(whole.secret, 0, "relin");
    for (int level : {0, 1, parameters.max_level() - 1}) {
      const ckks::Ciphertext a = whole.encrypt(x, level);
      const ckks::Ciphertext b = whole.encrypt(y, level);
      const ckks::Ciphertext product = whole.apply(Operation::multiply, {&a, &b}, nullptr, &key);
      const ckks::Ciphertext expected = whole.apply(Operation::rescale, {&product});
      const ckks::Ciphertext squared = whole.apply(Operation::square, {&a}, nullptr, &key);
      const ckks::Ciphertext expected_square = whole.apply(Operation::rescale, {&squared});
      CHECK(largest_error(whole.decrypt(expected), each(x, [&](std::size_t i) { return x[i] * y[i]; })) <
            1e-7);
      for (int group : {0, 1, 4}) {
        CAPTURE(special);
        CAPTURE(level);
        CAPTURE(group);
        const World w(parameters, group);
        const ckks::Ciphertext merged = w.apply(Operation::multiply_rescale, {&a, &b}, nullptr, &key);
        CHECK(merged.type() == scheme::ciphertext_type(parameters, level + 1));
        CHECK(same_bytes(merged.bytes(), expected.bytes()));
        CHECK(same_bytes(w.apply(Operation::square_rescale, {&a}, nullptr, &key).bytes(),
                         expected_square.bytes()));
      }
    }
  }
}

TEST_CASE("a merged product needs two limbs more than a key switch, a level that is left, and a key") {
  const World w(small_parameters());
  const ckks::SwitchingKey key = w.keys.relinearization_key(w.secret, 0, "relin");
  const ckks::Ciphertext a = w.encrypt(random_message(w.parameters.slots(), 52));
  const scheme::ValueType types[] = {a.type(), a.type()};
  const scheme::Signature signature =
      scheme::infer(w.parameters, Operation::multiply_rescale, types, &key.type());
  CHECK(signature.workspace == scheme::key_switch_workspace(w.parameters, 0, 0) + 2 * 8 * w.parameters.n());
  std::vector<std::byte> workspace(signature.workspace);
  ckks::Ciphertext out(w.parameters, signature.result);
  CHECK_THROWS_AS(w.evaluator.multiply_rescale(a.view(), a.view(), key.view(), out.ref(),
                                               std::span(workspace).first(workspace.size() - 1), {}),
                  scheme::StateError);
  CHECK_THROWS_AS(w.apply(Operation::square_rescale, {&a}), scheme::StateError);
  const ckks::Ciphertext last = w.encrypt(random_message(w.parameters.slots(), 53), w.parameters.max_level());
  CHECK_THROWS_AS(w.apply(Operation::square_rescale, {&last}, nullptr, &key), scheme::StateError);
}
