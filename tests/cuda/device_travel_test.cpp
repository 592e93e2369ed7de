// The journeys of devices_test.cpp on the two emulated machines: the same code, with functions of the host for kernels.
#include "cuda/device_travel.hpp"

#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("R64: copies between two emulated devices are the same transitions with threads and in steps") {
  const std::uint64_t seed = test_seed(640003);
  CAPTURE(seed);
  for (const bool direct : {false, true}) {
    CAPTURE(direct);
    residency::CopyRules rules;
    if (direct) rules.peers = {{memory::Location::cuda(0), memory::Location::cuda(1)}};
    const auto threads = memory::make_emulated_driver({.devices = 2});
    const auto steps =
        memory::make_stepped_driver({.devices = 2, .seed = seed, .one_allocation_per_block = true});
    const Journey expected = travel(threads, host_work(*threads), rules, seed);
    check_journeys(travel(steps, host_work(*steps), rules, seed), expected, direct);
  }
}
