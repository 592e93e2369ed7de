#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/ckks/expansion.hpp>
#include <fheres/memory/cuda.hpp>
#include <fheres/ring/cuda.hpp>
#include <fheres/scheme/presets.hpp>

#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;
using scheme::ValueType;

namespace {

// A value of one type at the host and on the device: random canonical residues, or poison.
class Twin {
 public:
  Twin(const scheme::Parameters& parameters, const ValueType& its_type,
       std::shared_ptr<memory::Driver> driver, const memory::Stream& stream)
      : type(its_type), parameters_(parameters), driver_(std::move(driver)), stream_(stream) {
    host.assign(scheme::bytes_of(parameters, type), std::byte{0xa5});
    host_words.resize(host.size() / sizeof(std::uint64_t));
    device = {driver_->allocate(stream_.device(), host.size()), host.size()};
    std::memset(host_words.data(), 0xa5, host.size());
    upload();
  }
  ~Twin() { driver_->deallocate(stream_.device(), device.data(), device.size()); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  Twin& randomized(std::mt19937_64& random) {
    const bool key = type.basis == scheme::Basis::qp;
    const int special = key ? parameters_.special_limbs() : 0;
    const int limbs = special + parameters_.limbs(type.level);
    const std::size_t per_limb = host_words.size() / static_cast<std::size_t>(limbs);
    for (int limb = 0; limb < limbs; ++limb) {
      const std::uint64_t q = limb < special
                                  ? parameters_.p()[static_cast<std::size_t>(limb)].value
                                  : parameters_.q()[static_cast<std::size_t>(limb - special)].value;
      for (std::size_t i = 0; i < per_limb; ++i) {
        host_words[static_cast<std::size_t>(limb) * per_limb + i] = random() % q;
      }
    }
    upload();
    return *this;
  }
  /// Random words, for values that are copied or are seeds.
  Twin& filled(std::mt19937_64& random) {
    for (std::uint64_t& word : host_words) word = random();
    upload();
    return *this;
  }
  std::span<std::byte> host_bytes() { return {reinterpret_cast<std::byte*>(host_words.data()), host.size()}; }
  bool same() {
    driver_->copy(stream_, {memory::Location::pageable_host(), host.data(), host.size()},
                  {stream_.device(), device.data(), device.size()});
    driver_->synchronize(stream_);
    return std::memcmp(host.data(), host_words.data(), host.size()) == 0;
  }

  const ValueType type;
  std::vector<std::byte> host;
  std::vector<std::uint64_t> host_words;
  std::span<std::byte> device;

 private:
  void upload() {
    driver_->copy(stream_, {stream_.device(), device.data(), device.size()},
                  {memory::Location::pageable_host(), host_bytes().data(), host.size()});
    driver_->synchronize(stream_);
  }
  scheme::Parameters parameters_;
  std::shared_ptr<memory::Driver> driver_;
  memory::Stream stream_;
};

struct World {
  explicit World(const scheme::ParametersLiteral& literal)
      : parameters(scheme::Parameters::make(literal)),
        driver(memory::make_cuda_driver()),
        stream(driver->make_stream(memory::Location::cuda(0), "parity")),
        host(ckks::Context::on_host(parameters)),
        device(parameters, ring::make_cuda_backend(host.backend().shared_basis(), driver, stream.device())) {}

  scheme::Parameters parameters;
  std::shared_ptr<memory::Driver> driver;
  memory::Stream stream;
  ckks::Context host, device;
};

// The operation on both back ends, with poisoned results and workspaces.
void check(World& w, std::mt19937_64& random, Operation operation, std::vector<ValueType> operands,
           const ValueType* key, int group, const scheme::Scalar* scalar = nullptr) {
  INFO(scheme::name(operation) << " level=" << operands.front().level << " group=" << group);
  const scheme::Signature signature = scheme::infer(w.parameters, operation, operands, key, group, scalar);
  std::vector<std::unique_ptr<Twin>> inputs;
  std::vector<ckks::CiphertextView> host_ciphertexts, device_ciphertexts;
  std::optional<ckks::PlaintextView> host_plain, device_plain;
  for (const ValueType& type : operands) {
    inputs.push_back(std::make_unique<Twin>(w.parameters, type, w.driver, w.stream));
    inputs.back()->randomized(random);
    if (type.kind == scheme::Kind::ciphertext) {
      host_ciphertexts.emplace_back(w.parameters, type, inputs.back()->host_bytes());
      device_ciphertexts.emplace_back(w.parameters, type, inputs.back()->device);
    } else {
      host_plain.emplace(w.parameters, type, inputs.back()->host_bytes());
      device_plain.emplace(w.parameters, type, inputs.back()->device);
    }
  }
  std::unique_ptr<Twin> key_twin;
  std::optional<ckks::KeyView> host_key, device_key;
  if (key != nullptr) {
    key_twin = std::make_unique<Twin>(w.parameters, *key, w.driver, w.stream);
    key_twin->randomized(random);
    host_key.emplace(w.parameters, *key, key_twin->host_bytes());
    device_key.emplace(w.parameters, *key, key_twin->device);
  }
  Twin out(w.parameters, signature.result, w.driver, w.stream);
  std::vector<std::uint64_t> host_workspace(signature.workspace / sizeof(std::uint64_t), ~std::uint64_t{0});
  std::byte* device_workspace = w.driver->allocate(w.stream.device(), signature.workspace);

  const ckks::Evaluator on_host(w.host, group), on_device(w.device, group);
  on_host.apply(
      operation,
      {host_ciphertexts, host_plain ? &*host_plain : nullptr, host_key ? &*host_key : nullptr, scalar},
      {w.parameters, signature.result, out.host_bytes()},
      {reinterpret_cast<std::byte*>(host_workspace.data()), signature.workspace}, {});
  on_device.apply(operation,
                  {device_ciphertexts, device_plain ? &*device_plain : nullptr,
                   device_key ? &*device_key : nullptr, scalar},
                  {w.parameters, signature.result, out.device}, {device_workspace, signature.workspace},
                  w.stream);
  CHECK(out.same());
  for (const auto& input : inputs) CHECK(input->same());
  w.driver->deallocate(w.stream.device(), device_workspace, signature.workspace);
}

void check_level(World& w, std::mt19937_64& random, int level) {
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
    World w(*literal);
    for (int level = 0; level <= w.parameters.max_level(); ++level) check_level(w, random, level);
  }
}

TEST_CASE("parity: larger rings, at the first, a middle and the last level") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* preset : {"slots16384-scale40-levels16"}) {
    const auto literal = scheme::find_preset(preset);
    REQUIRE(literal);
    World w(*literal);
    for (int level : {0, w.parameters.max_level() / 2, w.parameters.max_level()})
      check_level(w, random, level);
  }
}

TEST_CASE(
    "parity: seeded keys and ciphertexts expand to the same bytes, at their own level and at deeper ones") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  World w(*scheme::find_preset("slots8192-scale40-levels7"));
  const scheme::Parameters& p = w.parameters;
  for (int from = 0; from <= p.max_level(); ++from) {
    Twin key(p, scheme::seeded_form(scheme::rotation_key_type(p, 3, from)), w.driver, w.stream);
    Twin ciphertext(p, scheme::seeded_form(scheme::ciphertext_type(p, from)), w.driver, w.stream);
    key.filled(random);
    ciphertext.filled(random);
    for (int level = from; level <= p.max_level(); ++level) {
      INFO("from level " << from << " to level " << level);
      Twin full(p, scheme::rotation_key_type(p, 3, level), w.driver, w.stream);
      ckks::expand(w.host, ckks::KeyView(p, key.type, key.host_bytes()), {p, full.type, full.host_bytes()},
                   {});
      ckks::expand(w.device, ckks::KeyView(p, key.type, key.device), {p, full.type, full.device}, w.stream);
      CHECK(full.same());
    }
    Twin full(p, scheme::ciphertext_type(p, from), w.driver, w.stream);
    ckks::expand(w.host, ckks::CiphertextView(p, ciphertext.type, ciphertext.host_bytes()),
                 {p, full.type, full.host_bytes()}, {});
    ckks::expand(w.device, ckks::CiphertextView(p, ciphertext.type, ciphertext.device),
                 {p, full.type, full.device}, w.stream);
    CHECK(full.same());
  }
}
