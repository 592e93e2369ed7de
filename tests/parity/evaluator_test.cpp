#include <doctest/doctest.h>

#include <fheres/ckks/expansion.hpp>
#include <fheres/scheme/presets.hpp>

#include "parity/evaluator_rig.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;
using scheme::ValueType;

namespace {

// The operation on both back ends, with poisoned results and workspaces.
void check(EvaluatorRig& w, std::mt19937_64& random, Operation operation, std::vector<ValueType> operands,
           const ValueType* key, int group, const scheme::Scalar* scalar = nullptr) {
  INFO(scheme::name(operation) << " level=" << operands.front().level << " group=" << group);
  const scheme::Signature signature = scheme::infer(w.parameters, operation, operands, key, group, scalar);
  std::vector<std::unique_ptr<ValueTwin>> inputs;
  std::vector<ckks::CiphertextView> host_ciphertexts, device_ciphertexts;
  std::optional<ckks::PlaintextView> host_plain, device_plain;
  for (const ValueType& type : operands) {
    inputs.push_back(std::make_unique<ValueTwin>(w.parameters, type, w.driver, w.stream));
    inputs.back()->randomized(random);
    if (type.kind == scheme::Kind::ciphertext) {
      host_ciphertexts.emplace_back(w.parameters, type, inputs.back()->host_bytes());
      device_ciphertexts.emplace_back(w.parameters, type, inputs.back()->device);
    } else {
      host_plain.emplace(w.parameters, type, inputs.back()->host_bytes());
      device_plain.emplace(w.parameters, type, inputs.back()->device);
    }
  }
  std::unique_ptr<ValueTwin> key_twin;
  std::optional<ckks::KeyView> host_key, device_key;
  if (key != nullptr) {
    key_twin = std::make_unique<ValueTwin>(w.parameters, *key, w.driver, w.stream);
    key_twin->randomized(random);
    host_key.emplace(w.parameters, *key, key_twin->host_bytes());
    device_key.emplace(w.parameters, *key, key_twin->device);
  }
  ValueTwin out(w.parameters, signature.result, w.driver, w.stream);
  std::vector<std::uint64_t> host_workspace(signature.workspace / sizeof(std::uint64_t), ~std::uint64_t{0});
  const DeviceWorkspace device_workspace(w.driver, w.stream, signature.workspace);

  const ckks::Evaluator on_host(w.host, group), on_device(w.device, group);
  on_host.apply(
      operation,
      {host_ciphertexts, host_plain ? &*host_plain : nullptr, host_key ? &*host_key : nullptr, scalar},
      {w.parameters, signature.result, out.host_bytes()},
      {reinterpret_cast<std::byte*>(host_workspace.data()), signature.workspace}, {});
  on_device.apply(operation,
                  {device_ciphertexts, device_plain ? &*device_plain : nullptr,
                   device_key ? &*device_key : nullptr, scalar},
                  {w.parameters, signature.result, out.device}, device_workspace.span(), w.stream);
  CHECK(out.same());
  for (const auto& input : inputs) CHECK(input->same());
}

// Q of a base prime and so many of 40 bits, P of so many of 60; digits as large as P.
scheme::ParametersLiteral chain(int log_n, int base_bits, int levels, int special) {
  scheme::ParametersLiteral literal;
  literal.log_n = log_n;
  literal.q.assign(static_cast<std::size_t>(levels) + 1, {40, {}});
  literal.q[0].bits = base_bits;
  literal.p.assign(static_cast<std::size_t>(special), {60, {}});
  literal.scale_bits = 40;
  literal.security = scheme::SecurityTable::none;
  return literal;
}

void check_level(EvaluatorRig& w, std::mt19937_64& random, int level) {
  const scheme::Parameters& p = w.parameters;
  const ValueType x = scheme::ciphertext_type(p, level);
  const ValueType plain = scheme::plaintext_type(p, level, p.canonical_scale(level));
  const ValueType rotation =
      scheme::rotation_key_type(p, static_cast<std::int64_t>(1 + random() % 1000), level);
  const ValueType conjugation = scheme::conjugation_key_type(level);
  const ValueType relinearization = scheme::relinearization_key_type(level);
  check(w, random, Operation::add, {x, x}, nullptr, 0);
  check(w, random, Operation::sub_plain, {x, plain}, nullptr, 0);
  check(w, random, Operation::plain_sub, {x, plain}, nullptr, 0);
  const scheme::Scalar scalar{-0.37, {}};
  for (Operation operation : {Operation::add_scalar, Operation::sub_scalar, Operation::scalar_sub}) {
    check(w, random, operation, {x}, nullptr, 0, &scalar);
  }
  for (int group : {0, 1, 3}) {
    check(w, random, Operation::rotate, {x}, &rotation, group);
    check(w, random, Operation::conjugate, {x}, &conjugation, group);
  }
  if (level == p.max_level()) return;
  check(w, random, Operation::multiply_plain, {x, plain}, nullptr, 0);
  check(w, random, Operation::multiply, {x, x}, nullptr, 0);
  check(w, random, Operation::multiply, {x, x}, &relinearization, 2);
  check(w, random, Operation::multiply_scalar, {x}, nullptr, 0, &scalar);
  for (int group : {0, 1, 3}) {
    check(w, random, Operation::multiply_rescale, {x, x}, &relinearization, group);
    check(w, random, Operation::square_rescale, {x}, &relinearization, group);
  }
  check(w, random, Operation::mod_switch, {x}, nullptr, 0);
  ValueType product = x;
  product.scale = x.scale.times(x.scale);
  check(w, random, Operation::rescale, {product}, nullptr, 0);
  product.components = 3;
  check(w, random, Operation::relinearize, {product}, &relinearization, 0);
}

}  // namespace

TEST_CASE("parity: every evaluator operation gives the same residues on both back ends, at every level") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* preset :
       {"slots8192-scale40-levels7", "slots8192-scale40-levels7-fast", "slots8192-scale50-levels5"}) {
    INFO(preset);
    const auto literal = scheme::find_preset(preset);
    REQUIRE(literal);
    EvaluatorRig w(*literal);
    for (int level = 0; level <= w.parameters.max_level(); ++level) check_level(w, random, level);
  }
}

TEST_CASE("parity: operations in a small ring, which memory checkers can afford") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  EvaluatorRig w(chain(11, 60, 3, 2));
  for (int level : {0, w.parameters.max_level()}) check_level(w, random, level);
}

TEST_CASE("parity: every ring from N = 2^10 to 2^16, at every level") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int log_n = 10; log_n <= 16; ++log_n) {
    INFO("N=2^" << log_n);
    EvaluatorRig w(chain(log_n, log_n % 2 == 0 ? 60 : 50, log_n < 15 ? 5 : 3, 1 + log_n % 2));
    for (int level = 0; level <= w.parameters.max_level(); ++level) check_level(w, random, level);
  }
}

TEST_CASE("parity: the largest ring, N = 2^17, at its first level") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  EvaluatorRig w(chain(17, 60, 2, 1));
  check_level(w, random, 0);
}

TEST_CASE("parity: a long chain, at the first, a middle and the last level") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* preset : {"slots16384-scale40-levels16"}) {
    const auto literal = scheme::find_preset(preset);
    REQUIRE(literal);
    EvaluatorRig w(*literal);
    for (int level : {0, w.parameters.max_level() / 2, w.parameters.max_level()})
      check_level(w, random, level);
  }
}

TEST_CASE(
    "parity: seeded keys and ciphertexts expand to the same bytes, at their own level and at deeper ones") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  EvaluatorRig w(*scheme::find_preset("slots8192-scale40-levels7"));
  const scheme::Parameters& p = w.parameters;
  for (int from = 0; from <= p.max_level(); ++from) {
    ValueTwin key(p, scheme::seeded_form(scheme::rotation_key_type(p, 3, from)), w.driver, w.stream);
    ValueTwin ciphertext(p, scheme::seeded_form(scheme::ciphertext_type(p, from)), w.driver, w.stream);
    key.filled(random);
    ciphertext.filled(random);
    for (int level = from; level <= p.max_level(); ++level) {
      INFO("from level " << from << " to level " << level);
      ValueTwin full(p, scheme::rotation_key_type(p, 3, level), w.driver, w.stream);
      ckks::expand(w.host, ckks::KeyView(p, key.type, key.host_bytes()), {p, full.type, full.host_bytes()},
                   {});
      ckks::expand(w.device, ckks::KeyView(p, key.type, key.device), {p, full.type, full.device}, w.stream);
      CHECK(full.same());
    }
    ValueTwin full(p, scheme::ciphertext_type(p, from), w.driver, w.stream);
    ckks::expand(w.host, ckks::CiphertextView(p, ciphertext.type, ciphertext.host_bytes()),
                 {p, full.type, full.host_bytes()}, {});
    ckks::expand(w.device, ckks::CiphertextView(p, ciphertext.type, ciphertext.device),
                 {p, full.type, full.device}, w.stream);
    CHECK(full.same());
  }
}
