#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using Work = Transition::Work;

TEST_CASE("R9: ensure copies the bytes and keeps the replica that it read") {
  World world;
  const HandleId x = world.put("x", 700, kPageable, 0x5A);
  const TransitionReport report = world.manager->ensure(x, kDevice);
  CHECK(report.work == Work::copy);
  CHECK(report.source == kPageable);
  CHECK(report.bytes == 700);
  CHECK(world.first_byte(x, kDevice) == 0x5A);
  CHECK(world.at(x, kPageable));
  CHECK(world.manager->ensure(x, kDevice).no_op());
  CHECK(world.accounts_hold());
}

TEST_CASE("R10: move leaves the bytes at the destination alone") {
  World world;
  const HandleId x = world.put("x", 700, kPinned, 0x77, ReplicaMode::exclusive);
  CHECK_THROWS_AS(world.manager->ensure(x, kDevice), OwnershipError);
  world.manager->move(x, kDevice);
  world.manager->move(x, Location::cuda(1));
  world.manager->move(x, kPageable, Location::cuda(1));
  CHECK(world.first_byte(x, kPageable) == 0x77);
  CHECK_FALSE(world.at(x, kPinned));
  CHECK_FALSE(world.at(x, kDevice));
  CHECK(world.account(kDevice).used == 0);
  CHECK(world.manager->snapshot().at(kDevice)->allocated == 0);
}

TEST_CASE("R11: a drop gives the block back to its region") {
  World world({{kDevice, 1024}});
  const HandleId x = world.put("x", 1024, kPinned);
  world.manager->ensure(x, kDevice);
  CHECK(world.manager->snapshot().at(kDevice)->allocated == 1024);
  world.manager->drop(x, kDevice);
  CHECK(world.manager->snapshot().at(kDevice)->allocated == 0);
  CHECK_THROWS_AS(world.manager->drop(x, kPinned), OwnershipError);
}

TEST_CASE("R12: discard gives every block back") {
  World world;
  const HandleId x = world.put("x", 1024, kPinned);
  world.manager->ensure(x, kDevice);
  world.manager->discard(x);
  CHECK(world.manager->snapshot().at(kDevice)->allocated == 0);
  CHECK(world.account(kPinned).used == 0);
  CHECK(world.manager->snapshot().values[0].discarded);
}

TEST_CASE("R13: an explicit source that is not resident is UnavailableError") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  CHECK_THROWS_AS(world.manager->ensure(x, kDevice, kPageable), UnavailableError);
  CHECK_THROWS_AS(world.manager->move(x, kPinned, kDevice), UnavailableError);
}

TEST_CASE("R15: a BudgetError carries location, budget, used, reserved and requested") {
  World world({{kDevice, 1024}});
  world.put("a", 512, kDevice);
  const Reservation w = world.manager->reserve(kDevice, 256, "w");
  const HandleId x = world.put("x", 300, kPinned);
  const auto error = caught<BudgetError>([&] { world.manager->ensure(x, kDevice); });
  CHECK(error.code() == "residency/budget");
  CHECK(error.at == kDevice);
  CHECK(error.budget == 1024);
  CHECK(error.used == 512);
  CHECK(error.reserved == 256);
  CHECK(error.requested == 512);
  CHECK(world.account(kDevice).used == 512);
}

TEST_CASE("R19: a device transition is complete when it returns, on the given stream or the manager's own") {
  World world;
  const HandleId x = world.put("x", 256, kPinned, 9);
  const memory::Stream mine = world.stepped->make_stream(kDevice, "mine");
  world.manager->ensure(x, kDevice, {}, mine);
  CHECK(world.stepped->executed(mine) > 0);
  CHECK(world.stepped->executed(mine) == world.stepped->submitted(mine));
  const memory::Stream own = world.manager->transfer_stream(kDevice);
  CHECK(world.stepped->submitted(own) == 0);
  world.manager->move(x, kPageable, kDevice);
  CHECK(world.stepped->submitted(own) > 0);
  CHECK(world.stepped->executed(own) == world.stepped->submitted(own));
}

TEST_CASE("R19: a stream that a transition cannot use is refused before anything changes, also on a no-op") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  world.manager->ensure(x, kDevice);
  const memory::Stream zero = world.stepped->make_stream(kDevice, "zero");
  const memory::Stream one = world.stepped->make_stream(Location::cuda(1), "one");
  const auto version = world.manager->state_version();
  CHECK_THROWS_AS(world.manager->ensure(x, Location::cuda(1), {}, zero), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->ensure(x, kPageable, kPinned, zero), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->ensure(x, kPageable, kDevice, one), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->ensure(x, kDevice, {}, one), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->run(Drop{x, kDevice}, zero), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->run(Discard{x}, zero), std::invalid_argument);
  CHECK(world.manager->state_version() == version);
  CHECK(world.account(Location::cuda(1)).peak_charged == 0);
  CHECK(world.manager->ensure(x, kDevice, {}, zero).no_op());
  CHECK_NOTHROW(world.manager->ensure(x, kPageable, kDevice, zero));
}

TEST_CASE("R20: a request that fits by bytes but in no single piece, which holds prevent, changes nothing") {
  World world({{kDevice, 1024}});
  std::vector<HandleId> values;
  for (int i = 0; i < 4; ++i) {
    values.push_back(world.put("v", 256, kPinned));
    world.manager->ensure(values.back(), kDevice);
  }
  world.manager->drop(values[0], kDevice);
  world.manager->drop(values[2], kDevice);
  const Hold hold = world.manager->hold({values[1], values[3]}, kDevice);
  const HandleId big = world.put("big", 512, kPinned);
  CHECK_THROWS_AS(world.manager->ensure(big, kDevice), FragmentedError);
  CHECK_FALSE(world.at(big, kDevice));
  CHECK(world.account(kDevice).used == 512);
  CHECK(world.account(kDevice).peak_charged == 1024);
  CHECK(world.accounts_hold());
}

TEST_CASE("R47: a direct primitive raises the concrete exception of its rule") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  const Hold hold = world.manager->hold({x}, kPinned);
  const auto error = caught<InUseError>([&] { world.manager->move(x, kDevice); });
  CHECK(error.counts == Protection{.use = 0, .hold = 1, .pending = 0});
  CHECK(error.code() == "residency/in-use");
  CHECK_THROWS_AS(world.manager->discard(x), InUseError);
}
