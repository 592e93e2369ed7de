// What protects a block from its next owner, with real kernels on a real device.
#include <cstdlib>

#include <doctest/doctest.h>

#include <fheres/memory/cuda.hpp>

#include "cuda/rounds_checks.hpp"
#include "support/allocations.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

RoundsReport run(const RoundsOptions& options, bool one_allocation_per_block) {
  memory::CudaOptions machine;
  machine.one_allocation_per_block = one_allocation_per_block;
  const auto driver = memory::make_cuda_driver(machine);
  return run_rounds(driver, cuda_work(*driver), options);
}

RoundsOptions options_of(std::uint64_t seed) {
  RoundsOptions options;
  options.seed = test_seed(seed);
  options.unit = 64 * kKiB;
  options.longest_idle_ns = 300'000;
  options.patience_ns = 5'000'000'000;
  // For checkers: fewer rounds, and none that hold a kernel until the host is done, where launches are made to wait.
  if (const char* rounds = std::getenv("FHERES_TEST_STREAM_ROUNDS")) options.rounds = std::atoi(rounds);
  options.gates = std::getenv("FHERES_TEST_STREAM_NO_GATES") == nullptr;
  return options;
}

}  // namespace

TEST_CASE(
    "R32 R33 R35: no block that kernels of two streams read is freed, moved or reused before they are done") {
  const RoundsOptions options = options_of(320003);
  INFO("FHERES_TEST_SEED=" << options.seed);
  const RoundsReport report = run(options, one_allocation_per_block());
  check_rounds(report, options);
  MESSAGE(report.readers << " kernels, " << report.refused << " removals refused, " << report.prefetches
                         << " prefetches, " << report.device_waits << " waits on the device, "
                         << report.compacted / kMiB << " MiB compacted, " << report.overwritten / kMiB
                         << " MiB overwritten");
}

TEST_CASE("kernels whose leases ended before they were queued see wrong sums") {
  RoundsOptions options = options_of(320004);
  options.rounds = 100;
  options.unprotected = true;
  INFO("FHERES_TEST_SEED=" << options.seed);
  check_fault(run(options, false));
}

// For a checker: it must complain, else it checks nothing. Run by name, with --no-skip.
TEST_CASE("a checker of stream order complains about kernels whose leases ended too early" *
          doctest::skip()) {
  RoundsOptions options = options_of(320005);
  options.rounds = 20;
  options.unprotected = true;
  run(options, true);
}
