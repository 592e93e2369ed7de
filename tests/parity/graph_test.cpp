#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include <fheres/scheme/presets.hpp>

#include "parity/evaluator_rig.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;
using scheme::ValueType;

namespace {

/// One evaluator on the device, with its own bound of graphs and its own stream.
struct Engine {
  Engine(EvaluatorRig& rig, int graphs)
      : backend(ring::make_cuda_backend(rig.host.backend().shared_basis(), rig.driver, rig.stream.device(),
                                        {.graphs = graphs})),
        evaluator(ckks::Context(rig.parameters, backend)),
        stream(rig.driver->make_stream(rig.stream.device(), "graphs")) {}
  std::shared_ptr<const ring::Backend> backend;
  ckks::Evaluator evaluator;
  memory::Stream stream;
};

/// Rotations of new random values at one level, each in storage of its own.
class Rotations {
 public:
  Rotations(EvaluatorRig& rig, int level, std::uint64_t seed) : rig_(rig), random_(seed) {
    const scheme::Parameters& p = rig.parameters;
    input_.emplace(p, scheme::ciphertext_type(p, level), rig.driver, rig.stream);
    key_.emplace(p, scheme::rotation_key_type(p, 1 + static_cast<int>(seed % 7), level), rig.driver,
                 rig.stream);
    out_.emplace(p, input_->type, rig.driver, rig.stream);
    input_->randomized(random_);
    key_->randomized(random_);
    bytes_ = scheme::infer(p, Operation::rotate, std::array{input_->type}, &key_->type).workspace;
    workspace_.emplace(rig.driver, rig.stream, bytes_);
    std::vector<std::uint64_t> on_host(bytes_ / sizeof(std::uint64_t));
    ckks::Evaluator(rig.host).rotate(ckks::CiphertextView(p, input_->type, input_->host_bytes()),
                                     ckks::KeyView(p, key_->type, key_->host_bytes()),
                                     {p, out_->type, out_->host_bytes()},
                                     {reinterpret_cast<std::byte*>(on_host.data()), bytes_}, {});
  }
  void queue(const Engine& engine) const {
    const scheme::Parameters& p = rig_.parameters;
    engine.evaluator.rotate(ckks::CiphertextView(p, input_->type, input_->device),
                            ckks::KeyView(p, key_->type, key_->device), {p, out_->type, out_->device},
                            workspace_->span(), engine.stream);
  }
  /// Poison in the place of the result.
  void forget() {
    const std::vector<std::byte> poison(out_->device.size(), std::byte{0xa5});
    rig_.driver->copy(
        rig_.stream, {rig_.stream.device(), out_->device.data(), poison.size()},
        {memory::Location::pageable_host(), const_cast<std::byte*>(poison.data()), poison.size()});
    rig_.driver->synchronize(rig_.stream);
  }
  bool same(const Engine& engine) {
    rig_.driver->synchronize(engine.stream);
    return out_->same();
  }

 private:
  EvaluatorRig& rig_;
  std::mt19937_64 random_;
  std::optional<ValueTwin> input_, key_, out_;
  Bytes bytes_ = 0;
  std::optional<DeviceWorkspace> workspace_;
};

EvaluatorRig rig_of_test() { return EvaluatorRig(*scheme::find_preset("test-slots2048-scale40-levels5")); }

}  // namespace

TEST_CASE("graphs: an operation is captured the second time its operands come, and then replayed") {
  EvaluatorRig rig = rig_of_test();
  const Engine engine(rig, 8);
  std::vector<std::unique_ptr<Rotations>> all;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) all.push_back(std::make_unique<Rotations>(rig, 0, seed));
  for (std::uint64_t round = 1; round <= 5; ++round) {
    for (const auto& one : all) one->queue(engine);
    for (const auto& one : all) CHECK(one->same(engine));
    const ring::GraphCounts counts = engine.backend->graph_counts();
    CHECK(counts.first == 3);
    CHECK(counts.captured == (round < 2 ? 0 : 3));
    CHECK(counts.replayed == (round < 3 ? 0 : 3 * (round - 2)));
    CHECK(counts.held == (round < 2 ? 0 : 3));
    CHECK(counts.evicted == 0);
    for (const auto& one : all) one->forget();
  }
}

TEST_CASE("graphs: without them the residues are the same, and none is made") {
  EvaluatorRig rig = rig_of_test();
  const Engine engine(rig, 0);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Rotations one(rig, 1, seed);
    one.queue(engine);
    CHECK(one.same(engine));
  }
  CHECK(engine.backend->graph_counts().captured == 0);
  CHECK(engine.backend->graph_counts().held == 0);
}

TEST_CASE(
    "graphs: of more operations than there is room for some go without, until an older graph is stale") {
  EvaluatorRig rig = rig_of_test();
  const Engine engine(rig, 2);
  std::vector<std::unique_ptr<Rotations>> all;
  for (std::uint64_t seed = 11; seed <= 13; ++seed)
    all.push_back(std::make_unique<Rotations>(rig, static_cast<int>(seed) - 11, seed));
  for (int round = 0; round < 4; ++round) {
    for (const auto& one : all) one->queue(engine);
    for (const auto& one : all) CHECK(one->same(engine));
    CHECK(engine.backend->graph_counts().held <= 2);
    CHECK(engine.backend->graph_counts().evicted == 0);
    for (const auto& one : all) one->forget();
  }
  CHECK(engine.backend->graph_counts().captured == 2);
  // As many as make a graph stale.
  for (int i = 0; i < 4200; ++i) all[0]->queue(engine);
  all[2]->queue(engine);
  CHECK(engine.backend->graph_counts().captured == 3);
  CHECK(engine.backend->graph_counts().evicted == 1);
  CHECK(engine.backend->graph_counts().held == 2);
  all[1]->queue(engine);
  for (const auto& one : all) CHECK(one->same(engine));
}

TEST_CASE("graphs: threads with streams of their own share a back end") {
  EvaluatorRig rig = rig_of_test();
  const Engine one(rig, 16);
  Engine other = one;
  other.stream = rig.driver->make_stream(rig.stream.device(), "other");
  Rotations first(rig, 0, 21), second(rig, 0, 22);
  constexpr int kTimes = 50;
  const auto repeat = [&](const Rotations& rotation, const Engine& engine) {
    for (int i = 0; i < kTimes; ++i) rotation.queue(engine);
  };
  std::thread beside([&] { repeat(second, other); });
  repeat(first, one);
  beside.join();
  CHECK(first.same(one));
  CHECK(second.same(other));
  const ring::GraphCounts counts = one.backend->graph_counts();
  CHECK(counts.captured == 2);  // a stream each
  CHECK(counts.replayed == 2 * (kTimes - 2));
}

TEST_CASE("graphs: an operation that is refused queues nothing") {
  EvaluatorRig rig = rig_of_test();
  const Engine engine(rig, 8);
  Rotations one(rig, 0, 31);
  const std::uint64_t before = engine.backend->graph_counts().first;
  CHECK_THROWS_AS(engine.backend->queue_as_one(engine.stream,
                                               [&] {
                                                 one.queue(engine);
                                                 throw std::runtime_error("in the middle");
                                               }),
                  std::runtime_error);
  CHECK(engine.backend->graph_counts().first == before);
  one.queue(engine);
  CHECK(one.same(engine));
}
