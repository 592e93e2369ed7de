#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

// A machine that answers, or fails to answer, what its device has free.
ManagerOptions observing() {
  ManagerOptions options;
  options.observe_devices = true;
  return options;
}

}  // namespace

TEST_CASE(
    "R50: a snapshot holds values with their places and protections, locations, reservations, version") {
  World world({{kDevice, 4096}});
  const HandleId x = world.put("x", 300, kPinned);
  world.manager->ensure(x, kDevice);
  const HandleId s = world.source("s", 256, kPageable);
  const HandleId gone = world.put("gone", 256, kPinned);
  world.manager->discard(gone);
  const Reservation w = world.manager->reserve(kDevice, 1024, "workspace");
  const Hold hold = world.manager->hold({x}, kDevice);
  const Snapshot seen = world.manager->snapshot();
  CHECK(seen.manager == world.manager->manager_id());
  CHECK(seen.version == world.manager->state_version());
  REQUIRE(seen.values.size() == 3);
  CHECK(seen.values[0].handle == x);
  CHECK(seen.values[0].spec->name == "x");
  REQUIRE(seen.values[0].materializations.size() == 2);
  const MaterializationSnapshot& m = seen.values[0].materializations[1];
  CHECK(m.at == kDevice);
  CHECK(m.logical_bytes == 300);
  CHECK(m.actual_bytes == 300);
  CHECK(m.charged_bytes == 512);
  CHECK(m.protection.hold == 1);
  CHECK(seen.values[s.serial].source == kPageable);
  CHECK(seen.values[gone.serial].discarded);
  const LocationSnapshot* device = seen.at(kDevice);
  REQUIRE(device != nullptr);
  CHECK(device->account.budget == Bytes{4096});
  CHECK(device->account.remaining() == Bytes{4096 - 512 - 1024});
  CHECK(device->materializations == 1);
  CHECK(device->protection.hold == 1);
  CHECK(device->allocated == 512);
  CHECK(device->peak_allocated == 512);
  REQUIRE(seen.reservations.size() == 1);
  CHECK(seen.reservations[0].spec.label == "workspace");
  CHECK(seen.at(Location::cuda(1)) == nullptr);
}

TEST_CASE("R25: unbudgeted locations keep the same figures, with no budget and nothing remaining") {
  World world;
  const HandleId x = world.put("x", 512, kPinned);
  world.manager->move(x, kPageable);
  const Account pinned = world.account(kPinned);
  CHECK_FALSE(pinned.budget);
  CHECK_FALSE(pinned.remaining());
  CHECK(pinned.used == 0);
  CHECK(pinned.peak_used == 512);
}

TEST_CASE("R28: what a device says of itself is shown where asked for, and absent where it cannot be had") {
  World silent;
  silent.put("x", 256, kDevice);
  CHECK_FALSE(silent.manager->snapshot().at(kDevice)->device);
  const auto driver = memory::make_stepped_driver({.device_bytes = 128 * kMiB});
  Manager manager(driver, observing());
  const HandleId x = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("x", 256));
  const TransitionReport report = manager.ensure(x, kDevice);
  const auto actual = driver->observe(kDevice);
  REQUIRE((actual && report.device_before && report.device_after));
  CHECK(report.device_before->total == actual->total);
  const auto seen = manager.snapshot().at(kDevice)->device;
  REQUIRE(seen);
  CHECK(seen->free == actual->free);
  CHECK_FALSE(manager.snapshot().at(kPinned)->device);
}
