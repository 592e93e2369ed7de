// Copies between two devices: through the driver, and as a manager makes them, directly or staged (R64). On a machine with
// one device that one plays both.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/residency/copy_rules.hpp>

#include "cuda/device_travel.hpp"
#include "support/allocations.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::residency;
using memory::Location;
using memory::Stream;

namespace {

const Location kPinned = Location::pinned_host();
const Location kOne = Location::cuda(0);
const Location kTwo = Location::cuda(1);

/// What plays cuda:0 and cuda:1: both orders of two devices where there are two.
std::vector<std::vector<int>> pairs() {
  if (memory::cuda_device_count() >= 2) return {{0, 1}, {1, 0}, {0, 0}};
  MESSAGE("only one device: it plays both, and no copy leaves it");
  return {{0, 0}};
}

std::shared_ptr<memory::Driver> make_driver(const std::vector<int>& devices) {
  memory::CudaOptions options;
  options.devices = devices;
  options.one_allocation_per_block = test::one_allocation_per_block();
  return memory::make_cuda_driver(options);
}

}  // namespace

TEST_CASE("bytes and rows survive the way from one device to another and back") {
  const std::uint64_t seed = test::test_seed(640001);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const std::vector<int>& devices : pairs()) {
    CAPTURE(devices[0]);
    CAPTURE(devices[1]);
    const auto driver = make_driver(devices);
    const std::string reach = driver->are_peers(kOne, kTwo) ? "reach" : "do not reach";
    MESSAGE("devices " << devices[0] << " and " << devices[1] << " " << reach << " each other");
    CHECK(driver->are_peers(kOne, kTwo) == driver->are_peers(kTwo, kOne));
    CHECK_FALSE(driver->are_peers(kOne, kOne));
    CHECK_FALSE(driver->are_peers(kOne, kPinned));
    CHECK_FALSE(driver->are_peers(kOne, Location::cuda(2)));
    for (const Bytes bytes : {Bytes{1}, Bytes{1000}, 96 * kKiB + 8}) {
      std::vector<memory::Extent> made;
      const auto make = [&](Location at) {
        made.push_back({at, driver->allocate(at, bytes), bytes});
        return made.back();
      };
      const auto from = make(kPinned), one = make(kOne), two = make(kTwo), back = make(kOne),
                 to = make(kPinned);
      for (Bytes i = 0; i < bytes; ++i) from.data[i] = static_cast<std::byte>(random());
      std::memset(to.data, 0, bytes);
      const Stream first = driver->make_stream(kOne, "first"), second = driver->make_stream(kTwo, "second");
      driver->copy(first, one, from);
      driver->wait(second, driver->record(first));
      driver->copy(second, two, one);
      driver->wait(first, driver->record(second));
      if (bytes % 8 == 0) {
        const memory::Copy2D rows{bytes / 8, 8, 8, 8};
        driver->copy_2d(first, back, two, rows);
      } else {
        driver->copy(first, back, two);
      }
      driver->copy(first, to, back);
      driver->synchronize(first);
      CHECK(std::memcmp(to.data, from.data, bytes) == 0);
      for (const memory::Extent& extent : made) driver->deallocate(extent.at, extent.data, extent.bytes);
    }
  }
}

TEST_CASE("R64: copies between two devices, staged or direct, are the same transitions on every driver") {
  const std::uint64_t seed = test::test_seed(640002);
  CAPTURE(seed);
  for (const std::vector<int>& devices : pairs()) {
    CAPTURE(devices[0]);
    CAPTURE(devices[1]);
    for (const bool direct : {false, true}) {
      CAPTURE(direct);
      const auto driver = make_driver(devices);
      CopyRules rules;
      if (direct) rules.peers = {{kOne, kTwo}};
      if (direct && !driver->are_peers(kOne, kTwo)) {
        CHECK_THROWS_AS(test::travel(driver, test::cuda_work(*driver), rules, seed), std::invalid_argument);
        continue;
      }
      const auto emulated = memory::make_emulated_driver({.devices = 2});
      const test::Journey expected = test::travel(emulated, test::host_work(*emulated), rules, seed);
      test::check_journeys(test::travel(driver, test::cuda_work(*driver), rules, seed), expected, direct);
    }
  }
}
