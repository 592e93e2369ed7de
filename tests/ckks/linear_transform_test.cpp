#include <doctest/doctest.h>

#include <fheres/ckks/diagonals.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::LinearTransform;

namespace {

using Diagonals = std::map<std::int64_t, std::vector<Complex>>;

Diagonals random_diagonals(const World& w, std::span<const std::int64_t> indices, unsigned seed) {
  Diagonals diagonals;
  for (const std::int64_t index : indices) diagonals[index] = random_message(w.parameters.slots(), seed++);
  return diagonals;
}

// y_i = sum of diagonal_r[i] x_(i - r), from the definition.
std::vector<Complex> transformed(const std::vector<Complex>& x, const Diagonals& diagonals) {
  const auto slots = static_cast<std::int64_t>(x.size());
  return each(x, [&](std::size_t i) {
    Complex sum;
    for (const auto& [index, values] : diagonals) {
      const std::int64_t from = ((static_cast<std::int64_t>(i) - index) % slots + slots) % slots;
      sum += values[i] * x[static_cast<std::size_t>(from)];
    }
    return sum;
  });
}

struct Made {
  ckks::Ciphertext value;
  scheme::Estimate estimate;
};

Made run(const World& w, const LinearTransform& transform, const Diagonals& diagonals,
         const ckks::Ciphertext& a, int plain_level) {
  const int level = a.type().level;
  const scheme::Scale scale = w.parameters.canonical_scale(level);
  const std::vector<ckks::Plaintext> plaintexts =
      ckks::encode_diagonals(w.encoder, w.parameters, transform, diagonals, plain_level, scale);
  std::vector<ckks::SwitchingKey> keys;
  for (const scheme::ValueType& type : transform.keys(level)) {
    keys.push_back(w.keys.rotation_key(w.secret, type.steps, type.level, "rot"));
  }
  std::vector<ckks::PlaintextView> plain_views;
  std::vector<scheme::ValueType> plain_types, key_types;
  std::vector<ckks::KeyView> key_views;
  for (const ckks::Plaintext& plaintext : plaintexts) {
    plain_views.push_back(plaintext.view());
    plain_types.push_back(plaintext.type());
  }
  for (const ckks::SwitchingKey& key : keys) {
    key_views.push_back(key.view());
    key_types.push_back(key.type());
  }
  const scheme::Signature signature = transform.infer(a.type(), plain_types, key_types);
  ckks::Ciphertext out(w.parameters, signature.result);
  std::ranges::fill(out.bytes(), std::byte{0xa5});
  w.with_workspace(signature.workspace, [&](ckks::Workspace workspace) {
    w.evaluator.linear_transform(transform, a.view(), plain_views, key_views, out.ref(), workspace, {});
  });
  const std::vector<double> magnitudes(plaintexts.size(), std::sqrt(2.0));
  return {std::move(out),
          transform.estimate(a.type(), scheme::fresh_estimate(w.parameters, a.type().scale, std::sqrt(2.0)),
                             scale, magnitudes)};
}

}  // namespace

TEST_CASE(
    "a matrix by its diagonals, for every split into baby and giant steps, at every level, below its bound") {
  for (const auto& [special, digit_limbs] : {std::pair{1, 1}, std::pair{2, 2}, std::pair{3, 4}}) {
    const World w(small_parameters(special, digit_limbs));
    const std::vector<Complex> x = random_message(w.parameters.slots(), 90);
    for (const std::vector<std::int64_t>& indices :
         {std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}, std::vector<std::int64_t>{-3, -1, 0, 1, 200},
          std::vector<std::int64_t>{0}, std::vector<std::int64_t>{16}, std::vector<std::int64_t>{3, 7},
          std::vector<std::int64_t>{0, 4}}) {
      const Diagonals diagonals = random_diagonals(w, indices, 91);
      const std::vector<Complex> expected = transformed(x, diagonals);
      for (int baby_steps : {0, 1, 3, 512}) {
        const int level = baby_steps % 3;
        CAPTURE(special);
        CAPTURE(indices.size());
        CAPTURE(baby_steps);
        const LinearTransform transform(w.parameters, indices, baby_steps);
        const Made made = run(w, transform, diagonals, w.encrypt(x, level), level == 2 ? 1 : level);
        const double error = largest_error(w.decrypt(made.value), expected);
        CHECK(error < made.estimate.bound());
        CHECK(error > made.estimate.bound() / 1e4);
        const ckks::Ciphertext rescaled = w.apply(scheme::Operation::rescale, {&made.value});
        CHECK(rescaled.type() == scheme::ciphertext_type(w.parameters, level + 1));
        CHECK(largest_error(w.decrypt(rescaled), expected) < 1e-6);
      }
    }
  }
}

TEST_CASE("a transform lists the keys that it needs and nothing more, and its workspace is the formula's") {
  const scheme::Parameters p = small_parameters(2, 2);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 64; ++i) all.push_back(i);
  const LinearTransform chosen(p, all);
  CHECK(chosen.baby_steps() == 8);
  CHECK(chosen.rotations() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 40, 48, 56});
  const LinearTransform wide(p, all, 16);
  CHECK(wide.keys(1).size() == 15 + 3);
  CHECK(wide.keys(1)[0] == scheme::rotation_key_type(p, 1, 1));

  const Bytes b = 8 * p.n();
  const int d = p.digits(1), u = p.limbs(1) + 2;
  const scheme::ValueType x = scheme::ciphertext_type(p, 1);
  const std::vector<scheme::ValueType> plaintexts(
      64, scheme::plaintext_type(p, 1, x.scale, scheme::PlaintextForm::prepared_qp));
  CHECK(wide.infer(x, plaintexts, wide.keys(1)).workspace == static_cast<Bytes>((d + 2 * 16 + 4) * u) * b);
  CHECK(LinearTransform(p, std::vector<std::int64_t>{0}).rotations().empty());
}

TEST_CASE("a transform refuses diagonals twice, missing keys, other forms, levels and counts") {
  const scheme::Parameters p = small_parameters();
  const auto make = [&](std::vector<std::int64_t> indices, int baby_steps = 0) {
    return LinearTransform(p, indices, baby_steps);
  };
  CHECK_THROWS_AS(make({}), scheme::ParameterError);
  CHECK_THROWS_AS(make({1, 1 - static_cast<std::int64_t>(p.slots())}), scheme::ParameterError);
  CHECK_THROWS_AS(make({1}, -1), scheme::ParameterError);
  const LinearTransform transform = make({0, 1, 2, 3}, 2);
  const scheme::ValueType x = scheme::ciphertext_type(p, 2);
  const auto plain = [&](int level, scheme::PlaintextForm form) {
    return std::vector<scheme::ValueType>(4, scheme::plaintext_type(p, level, x.scale, form));
  };
  const auto refusal = [&](const std::vector<scheme::ValueType>& plaintexts,
                           const std::vector<scheme::ValueType>& keys) -> std::string {
    try {
      transform.infer(x, plaintexts, keys);
    } catch (const scheme::StateError& error) {
      return error.what();
    }
    return "";
  };
  const auto qp = scheme::PlaintextForm::prepared_qp;
  CHECK(refusal(plain(2, qp), transform.keys(2)).empty());
  CHECK(refusal(plain(0, qp), transform.keys(0)).empty());
  CHECK(refusal(plain(3, qp), transform.keys(2)).find("level 2 and the plaintext level 3") !=
        std::string::npos);
  CHECK(refusal(plain(2, scheme::PlaintextForm::prepared), transform.keys(2)).find("prepared-qp") !=
        std::string::npos);
  CHECK(refusal({plain(2, qp)[0]}, transform.keys(2)) == "linear_transform: it has 1 plaintexts, expected 4");
  CHECK(refusal(plain(2, qp), {transform.keys(2)[0]}) ==
        "linear_transform: none of the 1 keys is a rotation-key for 2 steps");
  CHECK(refusal(plain(2, qp), transform.keys(3)).find("the key serves levels 3 to 5") != std::string::npos);
}
