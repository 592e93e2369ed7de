// Whole runs: the shipped samples on a real device, and on the emulated one with every block an allocation of its own.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/compile/prefetch.hpp>
#include <fheres/documents/load.hpp>
#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/report/run_json.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/runtime/bind.hpp>
#include <fheres/runtime/session.hpp>
#include <fheres/workload/planned.hpp>

#include "support/allocations.hpp"
#include "support/faulty_driver.hpp"
#include "support/program_of.hpp"

using namespace fheres;

namespace {

/// Leaves what has to be the same in two runs of one document. Times may differ, what devices said, which they are, and
/// state versions, which count how often completed readers were reaped (R48).
void keep_what_is_the_same(report::Json& json) {
  if (json.is_object()) {
    for (const char* key : {"timing", "observed", "device", "context_bytes", "expected_version"})
      json.erase(key);
  }
  for (auto& item : json) {
    if (item.is_structured()) keep_what_is_the_same(item);
  }
}

workload::Workload load(const std::string& file) {
  const documents::Loaded loaded = documents::load(file);
  REQUIRE(loaded.model);
  return std::get<workload::Workload>(*loaded.model);
}

report::Json run_on(std::shared_ptr<memory::Driver> driver, const std::string& file) {
  runtime::SessionOptions options;
  options.seed = 1;
  const runtime::RunReport report = runtime::run(load(file), {std::move(driver), ""}, options);
  INFO((report.failure ? report.failure->message : std::string()));
  CHECK(report.status == runtime::RunStatus::done);
  std::string text;
  const report::RunContext context;
  report::render(report::run_json(report, context), [&text](std::string_view piece) { text += piece; });
  report::Json json = report::Json::parse(text);
  keep_what_is_the_same(json);
  return json;
}

// Names the first place that differs.
void check_same(const report::Json& seen, const report::Json& expected) {
  const report::Json differences = report::Json::diff(expected, seen);
  CHECK_MESSAGE(differences.empty(),
                differences.size() << " differences, the first: "
                                   << (differences.empty() ? std::string() : differences.front().dump()));
}

}  // namespace

TEST_CASE("a run does the same where every block is an allocation of its own") {
  const std::string file = "samples/two-devices.yaml";
  check_same(run_on(memory::make_emulated_driver({.devices = 2, .one_allocation_per_block = true}), file),
             run_on(memory::make_emulated_driver({.devices = 2}), file));
}

TEST_CASE("every sample does the same on a real device, to the last residue" *
          doctest::skip(memory::cuda_device_count() == 0)) {
  for (const char* file :
       {"samples/first-steps.yaml", "samples/automatic-rotate-scale.yaml", "samples/explicit-tiles.yaml",
        "samples/linear-transform.yaml", "samples/matvec-bsgs-small.yaml",
        "samples/polynomial-tiles-small.yaml", "samples/logistic-loop-small.yaml"}) {
    CAPTURE(file);
    memory::CudaOptions options;
    options.devices = {0};
    options.one_allocation_per_block = test::one_allocation_per_block();
    check_same(run_on(memory::make_cuda_driver(options), file), run_on(memory::make_emulated_driver(), file));
  }
  // Where there is one device, that one plays both: they reach each other.
  memory::CudaOptions options;
  options.devices = {0, memory::cuda_device_count() >= 2 ? 1 : 0};
  options.one_allocation_per_block = test::one_allocation_per_block();
  const auto driver = memory::make_cuda_driver(options);
  if (!driver->are_peers(memory::Location::cuda(0), memory::Location::cuda(1))) {
    MESSAGE("the two devices do not reach each other: samples/two-devices.yaml is not run");
    return;
  }
  check_same(run_on(driver, "samples/two-devices.yaml"),
             run_on(memory::make_emulated_driver({.devices = 2}), "samples/two-devices.yaml"));
}

namespace {

/// Every value that a plan may prefetch starts in pinned memory, which has room for all.
workload::Workload pinned(workload::Workload workload) {
  Bytes all = 0;
  for (workload::Value& value : workload.world.values) {
    for (memory::Location& at : value.at)
      if (at == memory::Location::pageable_host()) at = memory::Location::pinned_host();
    all += value.spec.storage_bytes;
  }
  if (workload.world.budgets().contains(memory::Location::pinned_host()))
    workload.world.set_budget(memory::Location::pinned_host(), all);
  return workload;
}

/// A planned run does to the byte what its plan says, and computes what the controller's run does.
void check_planned(std::shared_ptr<memory::Driver> driver, const std::string& file, bool with_prefetch) {
  CAPTURE(file);
  const workload::Workload workload = pinned(load(file));
  workload::Program program = test::program_of(workload);
  if (with_prefetch) {
    workload::Machine machine = workload::default_machine();
    for (const scheme::Operation operation : scheme::operations())
      machine.operations.push_back(
          {workload.world.parameters->name(), std::string(scheme::name(operation)), {{0, 1e6}}});
    const compile::StageCosts costs = compile::costs_of(program, &workload, machine);
    program = compile::place_transfers(program, machine, costs).program;
    std::size_t prefetched = 0;
    for (const auto& stage : program.stages) prefetched += stage.prefetch.size();
    CHECK(prefetched > 0);
  }
  const workload::Rehearsal rehearsal = workload::rehearse(program);
  REQUIRE(rehearsal.answer == workload::Answer::feasible);
  const workload::Planned planned = workload::follow(workload, program);
  REQUIRE(planned.workload);
  runtime::SessionOptions options;
  options.seed = 1;
  const runtime::Machine machine{std::move(driver), ""};
  const runtime::RunReport decided = runtime::run(workload, machine, options);
  options.undisturbed = true;
  const runtime::RunReport run = runtime::run(*planned.workload, machine, options);
  INFO((run.failure ? run.failure->message : std::string()));
  REQUIRE(run.status == runtime::RunStatus::done);
  CHECK(run.moved_bytes() == rehearsal.moved_bytes);
  CHECK(run.moved_bytes() == decided.moved_bytes());
  REQUIRE(run.stages.size() == rehearsal.stages.size());
  for (std::size_t s = 0; s < run.stages.size(); ++s) {
    Bytes moved = 0;
    for (const residency::ActionReport& action : run.stages[s].report.actions)
      moved += action.transition.bytes;
    CHECK(moved == rehearsal.stages[s].explanation.moved_bytes());
    for (const residency::LocationPeak& peak : run.stages[s].report.peaks) {
      const auto* predicted = rehearsal.stages[s].explanation.at(peak.at);
      if (predicted == nullptr) continue;
      CHECK(peak.charged == predicted->peak_charged);
      if (predicted->budget) CHECK(peak.charged <= *predicted->budget);
    }
    for (const runtime::StallRun& stall : run.stages[s].stalls) CHECK(stall.end_ns >= stall.start_ns);
  }
  REQUIRE(run.checks.size() == decided.checks.size());
  for (std::size_t i = 0; i < run.checks.size(); ++i) {
    CHECK(run.checks[i].passed);
    CHECK(run.checks[i].residues_sha256 == decided.checks[i].residues_sha256);
  }
}

}  // namespace

TEST_CASE(
    "R21, R22, R23: a planned run moves to the byte what its plan says, with transfers placed ahead or not") {
  for (const bool with_prefetch : {false, true}) {
    check_planned(memory::make_emulated_driver(), "samples/automatic-rotate-scale.yaml", with_prefetch);
    check_planned(memory::make_emulated_driver(), "samples/explicit-tiles.yaml", with_prefetch);
  }
}

TEST_CASE("a planned run moves to the byte what its plan says on a real device" *
          doctest::skip(memory::cuda_device_count() == 0)) {
  for (const bool with_prefetch : {false, true}) {
    for (const char* file : {"samples/automatic-rotate-scale.yaml", "samples/explicit-tiles.yaml"}) {
      memory::CudaOptions options;
      options.devices = {0};
      options.one_allocation_per_block = test::one_allocation_per_block();
      check_planned(memory::make_cuda_driver(options), file, with_prefetch);
    }
  }
}

namespace {

/// Names of the stages that tell who held the room.
std::set<std::string> stages_with_holders(const runtime::RunReport& report) {
  std::set<std::string> names;
  for (const runtime::StageRun& stage : report.stages)
    for (const residency::LocationExplanation& location : stage.explanation.locations)
      if (!location.holders.empty()) names.insert(stage.name);
  return names;
}

}  // namespace

TEST_CASE("a run tells who held the room in the stages that it was asked for, and where it failed") {
  for (const bool with_plan : {false, true}) {
    CAPTURE(with_plan);
    workload::Workload workload = load("samples/two-devices.yaml");
    if (with_plan) {
      auto planned = workload::follow(workload, test::program_of(workload));
      REQUIRE(planned.workload);
      workload = std::move(*planned.workload);
    }
    const auto driver = std::make_shared<test::FaultyDriver>(memory::make_emulated_driver({.devices = 2}));
    runtime::SessionOptions options;
    options.seed = 1;
    const std::string asked = workload.stages[1].name.text;
    options.holders_in = {asked};
    const runtime::RunReport done = runtime::run(workload, {driver, ""}, options);
    CHECK(done.status == runtime::RunStatus::done);
    CHECK(stages_with_holders(done) == std::set{asked});
    const residency::LocationExplanation* full = done.stages[1].explanation.at(memory::Location::cuda(1));
    Bytes held = full->more_bytes;
    for (const residency::Holder& holder : full->holders) held += holder.charged;
    CHECK(held == full->peak_charged);

    options.holders_in = {};
    options.progress = [&](const runtime::Progress& now) {
      if (now.what == workload.stages[0].name.text) driver->fail(test::Call::copy, 1);
    };
    const runtime::RunReport failed = runtime::run(workload, {driver, ""}, options);
    REQUIRE(failed.failure);
    CHECK(failed.failure->phase == "enter");
    CHECK(stages_with_holders(failed) == std::set{failed.failure->stage});
  }
}

TEST_CASE("what a run had begun when it failed has no time, or an end after its start") {
  const workload::Workload workload = load("samples/automatic-rotate-scale.yaml");
  const auto driver = std::make_shared<test::FaultyDriver>(memory::make_emulated_driver());
  runtime::SessionOptions options;
  options.seed = 1;
  options.progress = [&](const runtime::Progress& now) {
    if (now.what == workload.stages.back().name.text) driver->fail(test::Call::enqueue, 2);
  };
  const runtime::RunReport failed = runtime::run(workload, {driver, ""}, options);
  REQUIRE(failed.failure);
  CHECK(failed.failure->phase == "body");
  const std::vector<runtime::OperationRun>& operations = failed.stages.back().operations;
  REQUIRE(!operations.empty());
  CHECK(operations[0].start_ns > 0);
  for (const runtime::OperationRun& operation : operations) CHECK(operation.end_ns >= operation.start_ns);
}

TEST_CASE("R31: a leased block is bound as what its metadata describes, and as nothing else") {
  const workload::Workload workload = load("samples/automatic-rotate-scale.yaml");
  const workload::Value& value = workload.world.values.front();
  REQUIRE(value.type);
  const scheme::Parameters& parameters = *workload.world.parameters;
  const memory::Location pinned = memory::Location::pinned_host();
  residency::Manager manager(memory::make_emulated_driver(), {});
  const residency::HandleId handle =
      manager.adopt(manager.allocate(pinned, value.spec.logical_bytes), pinned, value.spec);
  const residency::Lease lease = manager.acquire({handle}, pinned);
  const residency::BlockView block = lease.view(handle);
  const auto view = runtime::bind<ckks::CiphertextView>(parameters, block);
  CHECK(view.type() == *value.type);
  CHECK(reinterpret_cast<const std::byte*>(view.data()) == block.data);
  CHECK_THROWS_AS(runtime::bind<ckks::PlaintextView>(parameters, block), scheme::ParameterError);
}
