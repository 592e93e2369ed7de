// The rounds of streams_test.cpp on the emulated device: the same code, with functions of the host for kernels.
#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "cuda/rounds_checks.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

// A sanitizer ends the process at the first such access, which is its way to find the fault.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

RoundsReport run(const RoundsOptions& options, bool one_allocation_per_block) {
  memory::EmulatedOptions machine;
  machine.one_allocation_per_block = one_allocation_per_block;
  const auto driver = memory::make_emulated_driver(machine);
  return run_rounds(driver, host_work(*driver), options);
}

}  // namespace

TEST_CASE("R32 R33 R35: no block that two slow streams read is freed, moved or reused before they are done") {
  RoundsOptions options;
  options.seed = test_seed(320001);
  options.patience_ns = 300'000'000'000;  // a machine may be busy, and a sanitizer slow
  INFO("FHERES_TEST_SEED=" << options.seed);
  for (const bool apart : {false, true}) {
    options.rounds = apart ? 250 : 1000;
    CAPTURE(apart);
    check_rounds(run(options, apart), options);
  }
}

TEST_CASE("rounds in which leases end before their readers are queued see wrong sums" *
          doctest::skip(kSanitized)) {
  RoundsOptions options;
  options.seed = test_seed(320002);
  options.rounds = 100;
  options.unprotected = true;
  INFO("FHERES_TEST_SEED=" << options.seed);
  check_fault(run(options, false));
}
