// Whole runs: the shipped samples on a real device, and on the emulated one with every block an allocation of its own.
#include <string>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>
#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/report/run_json.hpp>
#include <fheres/runtime/session.hpp>

#include "support/allocations.hpp"

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

report::Json run_on(std::shared_ptr<memory::Driver> driver, const std::string& file) {
  const documents::Loaded loaded = documents::load(file);
  REQUIRE(loaded.model);
  runtime::SessionOptions options;
  options.seed = 1;
  const runtime::RunReport report =
      runtime::run(std::get<workload::Workload>(*loaded.model), {std::move(driver), ""}, options);
  INFO((report.failure ? report.failure->message : std::string()));
  CHECK(report.status == runtime::RunStatus::done);
  report::Json json = report::run_json(report, {});
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
