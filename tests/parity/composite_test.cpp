#include <doctest/doctest.h>

#include <fheres/scheme/polynomial.hpp>
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/rotations.hpp>

#include "parity/evaluator_rig.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::ValueType;

namespace {

// Random values of some types, as views on either side.
template <class View>
struct Twins {
  Twins(EvaluatorRig& rig, std::span<const ValueType> types, std::mt19937_64& random) {
    for (const ValueType& type : types) {
      twins.push_back(std::make_unique<ValueTwin>(rig.parameters, type, rig.driver, rig.stream));
      twins.back()->randomized(random);
      host.emplace_back(rig.parameters, type, twins.back()->host_bytes());
      device.emplace_back(rig.parameters, type, twins.back()->device);
    }
  }
  std::vector<std::unique_ptr<ValueTwin>> twins;
  std::vector<View> host, device;
};

// Calls body(evaluator, on_device, workspace, stream) on both back ends, with poisoned workspaces of exactly
// that size.
template <class Body>
void on_both(EvaluatorRig& w, int group, Bytes bytes, Body body) {
  std::vector<std::uint64_t> host(bytes / sizeof(std::uint64_t), ~std::uint64_t{0});
  const DeviceWorkspace device(w.driver, w.stream, bytes);
  body(ckks::Evaluator(w.host, group), false, {reinterpret_cast<std::byte*>(host.data()), bytes},
       memory::Stream());
  body(ckks::Evaluator(w.device, group), true, device.span(), w.stream);
  w.driver->synchronize(w.stream);
}

void check_circuit(EvaluatorRig& w, std::mt19937_64& random, const scheme::Circuit& circuit) {
  const ValueType input[] = {circuit.input()};
  Twins<ckks::CiphertextView> a(w, input, random);
  Twins<ckks::KeyView> keys(w, circuit.keys(), random);
  ValueTwin out(w.parameters, circuit.signature().result, w.driver, w.stream);
  on_both(w, circuit.group(), circuit.signature().workspace,
          [&](const ckks::Evaluator& evaluator, bool device, ckks::Workspace workspace,
              const memory::Stream& stream) {
            evaluator.run(circuit, device ? a.device[0] : a.host[0], device ? keys.device : keys.host,
                          {w.parameters, out.type, device ? out.device : out.host_bytes()}, workspace,
                          stream);
          });
  CHECK(out.same());
  CHECK(a.twins[0]->same());
}

void check_rotations(EvaluatorRig& w, std::mt19937_64& random, int level, int group) {
  const ValueType input[] = {scheme::ciphertext_type(w.parameters, level)};
  std::vector<ValueType> key_types{scheme::conjugation_key_type(level)};
  for (std::int64_t steps :
       {std::int64_t{1}, std::int64_t{-5}, static_cast<std::int64_t>(2 + random() % 1000)}) {
    key_types.push_back(scheme::rotation_key_type(w.parameters, steps, level));
  }
  Twins<ckks::CiphertextView> a(w, input, random);
  Twins<ckks::KeyView> keys(w, key_types, random);
  std::vector<std::unique_ptr<ValueTwin>> outs;
  for (std::size_t i = 0; i < key_types.size(); ++i)
    outs.push_back(std::make_unique<ValueTwin>(w.parameters, input[0], w.driver, w.stream));
  const scheme::Signature signature = scheme::infer_rotate_many(w.parameters, input[0], key_types, group);
  on_both(w, group, signature.workspace,
          [&](const ckks::Evaluator& evaluator, bool device, ckks::Workspace workspace,
              const memory::Stream& stream) {
            std::vector<ckks::CiphertextRef> refs;
            for (const auto& out : outs)
              refs.emplace_back(w.parameters, input[0], device ? out->device : out->host_bytes());
            evaluator.rotate_many(device ? a.device[0] : a.host[0], device ? keys.device : keys.host, refs,
                                  workspace, stream);
          });
  for (const auto& out : outs) CHECK(out->same());
}

void check_transform(EvaluatorRig& w, std::mt19937_64& random, int level, std::vector<std::int64_t> diagonals,
                     int baby_steps) {
  const scheme::LinearTransform transform(w.parameters, diagonals, baby_steps);
  const ValueType input[] = {scheme::ciphertext_type(w.parameters, level)};
  const std::vector<ValueType> plain_types(
      diagonals.size(), scheme::plaintext_type(w.parameters, level, w.parameters.canonical_scale(level),
                                               scheme::PlaintextForm::prepared_qp));
  const std::vector<ValueType> key_types = transform.keys(level);
  Twins<ckks::CiphertextView> a(w, input, random);
  Twins<ckks::PlaintextView> plain(w, plain_types, random);
  Twins<ckks::KeyView> keys(w, key_types, random);
  const scheme::Signature signature = transform.infer(input[0], plain_types, key_types);
  ValueTwin out(w.parameters, signature.result, w.driver, w.stream);
  on_both(w, 0, signature.workspace,
          [&](const ckks::Evaluator& evaluator, bool device, ckks::Workspace workspace,
              const memory::Stream& stream) {
            evaluator.linear_transform(transform, device ? a.device[0] : a.host[0],
                                       device ? plain.device : plain.host, device ? keys.device : keys.host,
                                       {w.parameters, out.type, device ? out.device : out.host_bytes()},
                                       workspace, stream);
          });
  CHECK(out.same());
}

void check_expansion(EvaluatorRig& w, std::mt19937_64& random, int level, scheme::PlaintextForm form) {
  const scheme::Scale& scale = w.parameters.canonical_scale(level);
  const ValueType compact[] = {
      scheme::plaintext_type(w.parameters, level, scale, scheme::PlaintextForm::compact)};
  Twins<ckks::PlaintextView> in(w, compact, random);
  ValueTwin out(w.parameters, scheme::plaintext_type(w.parameters, level, scale, form), w.driver, w.stream);
  on_both(w, 0, kGranule,
          [&](const ckks::Evaluator& evaluator, bool device, ckks::Workspace, const memory::Stream& stream) {
            evaluator.expand(device ? in.device[0] : in.host[0],
                             {w.parameters, out.type, device ? out.device : out.host_bytes()}, stream);
          });
  CHECK(out.same());
}

void check_composites(std::initializer_list<const char*> presets) {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* preset : presets) {
    INFO(preset);
    const auto literal = scheme::find_preset(preset);
    REQUIRE(literal);
    EvaluatorRig w(*literal);
    const scheme::Parameters& p = w.parameters;
    for (int level : {0, 2, p.max_level()}) {
      CAPTURE(level);
      for (int group : {0, 1, 3}) check_rotations(w, random, level, group);
      check_expansion(w, random, level, scheme::PlaintextForm::prepared);
      check_expansion(w, random, level, scheme::PlaintextForm::prepared_qp);
      const ValueType x = scheme::ciphertext_type(p, level);
      check_circuit(w, random, scheme::sum_slots(p, x, 8, scheme::sum_slots_keys(p, level, 8), level));
      if (level == p.max_level()) continue;
      check_transform(w, random, level, {0, 1, 2, 3, 4, 5, -1}, 2);
      check_transform(w, random, level, {0}, 1);
      check_transform(w, random, level, {4, 8, 9}, 4);
      check_transform(w, random, level, {0, 5, 6}, 4);  // giant step 0 has nothing over P
    }
    const std::vector<ValueType> keys{scheme::relinearization_key_type()};
    const std::vector<double> c{0.5, -0.25, 0.125, 0, 1, -0.75, 0.3, 0.2};
    for (const auto basis : {scheme::PolynomialBasis::power, scheme::PolynomialBasis::chebyshev}) {
      check_circuit(w, random, scheme::polynomial(p, scheme::ciphertext_type(p), c, basis, keys, 2));
    }
  }
}

}  // namespace

TEST_CASE("parity: hoisted rotations, sums, polynomials, transforms and expansions give the same residues") {
  check_composites({"slots8192-scale40-levels7", "slots8192-scale50-levels5"});
}

TEST_CASE("parity: the same in a small ring, which memory checkers can afford") {
  check_composites({"test-slots2048-scale40-levels5"});
}
