#include <doctest/doctest.h>

#include <fheres/scheme/rotations.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;

namespace {

std::vector<ckks::KeyView> views_of(const std::vector<ckks::SwitchingKey>& keys) {
  std::vector<ckks::KeyView> views;
  for (const ckks::SwitchingKey& key : keys) views.push_back(key.view());
  return views;
}

std::vector<scheme::ValueType> types_of(const std::vector<ckks::SwitchingKey>& keys) {
  std::vector<scheme::ValueType> types;
  for (const ckks::SwitchingKey& key : keys) types.push_back(key.type());
  return types;
}

}  // namespace

TEST_CASE("hoisted rotations are those of rotate, byte by byte, for every group size and level") {
  for (const auto& [special, digit_limbs] : {std::pair{1, 1}, std::pair{2, 2}, std::pair{3, 4}}) {
    const scheme::Parameters parameters = small_parameters(special, digit_limbs);
    const World whole(parameters);
    std::vector<ckks::SwitchingKey> keys;
    for (std::int64_t steps : {1, 5, -7}) {
      keys.push_back(whole.keys.rotation_key(whole.secret, steps, 0, "rot"));
    }
    keys.push_back(whole.keys.conjugation_key(whole.secret, 0, "conj"));
    const std::vector<ckks::KeyView> views = views_of(keys);
    for (int level : {0, 3, 5}) {
      const ckks::Ciphertext a = whole.encrypt(random_message(parameters.slots(), 70), level);
      for (int group : {0, 2}) {
        CAPTURE(special);
        CAPTURE(level);
        CAPTURE(group);
        const World w(parameters, group);
        const scheme::Signature signature =
            scheme::infer_rotate_many(parameters, a.type(), types_of(keys), group);
        std::vector<ckks::Ciphertext> outs;
        std::vector<ckks::CiphertextRef> refs;
        for (std::size_t i = 0; i < keys.size(); ++i) outs.emplace_back(parameters, a.type());
        for (ckks::Ciphertext& out : outs) refs.push_back(out.ref());
        w.with_workspace(signature.workspace, [&](ckks::Workspace workspace) {
          w.evaluator.rotate_many(a.view(), views, refs, workspace, {});
        });
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const Operation operation = i < 3 ? Operation::rotate : Operation::conjugate;
          CHECK(same_bytes(outs[i].bytes(), w.apply(operation, {&a}, nullptr, &keys[i]).bytes()));
        }
      }
    }
  }
}

TEST_CASE("hoisted rotations need what the formula says, and one rotation what rotate needs") {
  const scheme::Parameters p = small_parameters(2, 2);
  const Bytes b = 8 * p.n();
  const int l = p.limbs(1), k = 2, d = p.digits(1);
  const scheme::ValueType key = scheme::rotation_key_type(p, 3);
  const scheme::ValueType operand = scheme::ciphertext_type(p, 1);
  const std::vector<scheme::ValueType> three(3, key);
  CHECK(scheme::infer_rotate_many(p, operand, three).workspace ==
        static_cast<Bytes>(d * (l + k) + 2 * k * 3) * b);
  CHECK(scheme::infer_rotate_many(p, operand, three, 2).workspace ==
        static_cast<Bytes>(l + d * 2 + 2 * k * 3) * b);
  CHECK(scheme::infer_rotate_many(p, operand, std::span(three).first(1)).workspace ==
        scheme::key_switch_workspace(p, 1, 0));
  CHECK_THROWS_AS(scheme::infer_rotate_many(p, operand, {}), scheme::StateError);
}

TEST_CASE("hoisted rotations refuse a wrong count, a key of the wrong kind and results in one place") {
  const World w(small_parameters());
  const ckks::Ciphertext a = w.encrypt(random_message(w.parameters.slots(), 71));
  std::vector<ckks::SwitchingKey> keys;
  keys.push_back(w.keys.rotation_key(w.secret, 1, 0, "rot"));
  keys.push_back(w.keys.rotation_key(w.secret, 2, 0, "rot"));
  std::vector<std::byte> workspace(scheme::hoisted_workspace(w.parameters, 0, 2, 0));
  ckks::Ciphertext one(w.parameters, a.type());
  ckks::Ciphertext two(w.parameters, a.type());
  const std::vector<ckks::KeyView> views = views_of(keys);
  const auto refuses = [&](std::span<const ckks::KeyView> some, std::vector<ckks::CiphertextRef> outs,
                           Bytes bytes) {
    CHECK_THROWS_AS(w.evaluator.rotate_many(a.view(), some, outs, std::span(workspace).first(bytes), {}),
                    scheme::StateError);
  };
  refuses(views, {one.ref()}, workspace.size());
  refuses(views, {one.ref(), one.ref()}, workspace.size());
  refuses(views, {one.ref(), two.ref()}, workspace.size() - 1);
  const ckks::SwitchingKey wrong = w.keys.relinearization_key(w.secret, 0, "relin");
  refuses(std::vector{wrong.view()}, {one.ref()}, workspace.size());
}

TEST_CASE("slots are summed by doubling, over blocks and over all, in place where it can be") {
  for (int group : {0, 2}) {
    const World w(small_parameters(2), group);
    const std::vector<Complex> x = random_message(w.parameters.slots(), 72);
    const ckks::Ciphertext a = w.encrypt(x, 1);
    for (std::uint64_t count : {std::uint64_t{2}, std::uint64_t{8}, w.parameters.slots()}) {
      CAPTURE(count);
      std::vector<ckks::SwitchingKey> keys;
      for (const scheme::ValueType& type : scheme::sum_slots_keys(w.parameters, 1, count)) {
        keys.push_back(w.keys.rotation_key(w.secret, type.steps, type.level, "rot"));
      }
      const scheme::Circuit circuit = scheme::sum_slots(w.parameters, a.type(), count, types_of(keys), group);
      // Every sum stands in the result; what is added to it stands in the workspace.
      const Bytes turned = count == 2 ? 0 : scheme::bytes_of(w.parameters, a.type());
      CHECK(circuit.signature().workspace == scheme::key_switch_workspace(w.parameters, 1, group) + turned);
      CHECK(circuit.signature().result == a.type());
      const ckks::Ciphertext out = w.run(circuit, a, views_of(keys));
      const std::vector<Complex> expected = each(x, [&](std::size_t i) {
        Complex sum;
        for (std::size_t j = 0; j < count; ++j) sum += x[(i + x.size() - j) % x.size()];
        return sum;
      });
      const double error = largest_error(w.decrypt(out), expected);
      const double bound =
          circuit.estimate(scheme::fresh_estimate(w.parameters, a.type().scale, std::sqrt(2.0))).bound();
      CHECK(error < bound);
      CHECK(error > bound / 1e5);
    }
  }
}

TEST_CASE("a sum of slots refuses other counts, missing keys and other operands") {
  const scheme::Parameters p = small_parameters();
  const scheme::ValueType x = scheme::ciphertext_type(p);
  const std::vector<scheme::ValueType> keys = scheme::sum_slots_keys(p, 0, 8);
  CHECK(keys.size() == 3);
  for (std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{6}, 2 * p.slots()}) {
    CHECK_THROWS_AS(scheme::sum_slots(p, x, count, keys), scheme::StateError);
  }
  CHECK_THROWS_AS(scheme::sum_slots(p, x, 16, keys), scheme::StateError);
  CHECK_THROWS_AS(scheme::sum_slots(p, scheme::ciphertext_type(p, 0), 8, scheme::sum_slots_keys(p, 1, 8)),
                  scheme::StateError);
  const World w(p);
  const scheme::Circuit circuit = scheme::sum_slots(p, x, 2, std::span(keys).first(1));
  const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, 1, 0, "rot");
  const ckks::SwitchingKey other = w.keys.rotation_key(w.secret, 2, 0, "rot");
  const ckks::Ciphertext deeper = w.encrypt(random_message(p.slots(), 73), 1);
  const ckks::Ciphertext a = w.encrypt(random_message(p.slots(), 74));
  CHECK_THROWS_AS(w.run(circuit, deeper, {key.view()}), scheme::StateError);
  CHECK_THROWS_AS(w.run(circuit, a, {other.view()}), scheme::StateError);
  CHECK_THROWS_AS(w.run(circuit, a, {}), scheme::StateError);
}
