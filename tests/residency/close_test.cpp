#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R63: close refuses while leases, holds or reservations remain, and then ends every operation") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  Lease lease = world.manager->acquire({x}, kPinned);
  Hold hold = world.manager->hold({x}, kPinned);
  Reservation w = world.manager->reserve(kPinned, 256, "w");
  CHECK(caught<InUseError>([&] { world.manager->close(); }).counts ==
        Protection{.use = 1, .hold = 1, .pending = 0});
  lease.release();
  hold.release();
  CHECK_THROWS_AS(world.manager->close(), InUseError);
  CHECK_FALSE(world.manager->closed());
  w.release();
  world.manager->close();
  CHECK(world.manager->closed());
  CHECK_NOTHROW(world.manager->close());
  CHECK_THROWS_AS(world.manager->ensure(x, kDevice), ClosedError);
  CHECK_THROWS_AS(world.manager->snapshot(), ClosedError);
  CHECK_THROWS_AS(world.manager->state_version(), ClosedError);
  CHECK_THROWS_AS(world.manager->allocate(kPinned, 1), ClosedError);
  CHECK_THROWS_AS(world.manager->explain(Plan{}), ClosedError);
}

TEST_CASE("R63: close waits for pending consumers, or refuses them where it must not wait") {
  World world;
  const HandleId x = world.put("x", 256, kDevice);
  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  bool ran = false;
  world.stepped->enqueue(stream, [&] { ran = true; });
  { const Lease lease = world.manager->acquire({x}, kDevice, stream); }
  CHECK(caught<InUseError>([&] { world.manager->close(false); }).counts.pending == 1);
  CHECK_FALSE(ran);
  world.manager->close();
  CHECK(ran);
}

TEST_CASE("R63: a forced close synchronizes the devices and ends leaked tokens, which stay harmless") {
  World world;
  const HandleId x = world.put("x", 256, kDevice);
  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  bool ran = false;
  world.stepped->enqueue(stream, [&] { ran = true; });
  Lease lease = world.manager->acquire({x}, kDevice, stream);
  Hold hold = world.manager->hold({x}, kDevice);
  Reservation w = world.manager->reserve(kDevice, 256, "w");
  Allocation block = w.allocate(256);
  Plan plan;
  plan.name = "p";
  Scope scope = world.manager->scope(plan);
  scope.enter();
  world.manager->close(true, true);
  CHECK(ran);
  CHECK_FALSE(lease.active());
  CHECK_THROWS_AS(lease.view(x), LifetimeClosedError);
  CHECK_THROWS_AS(w.allocate(1), LifetimeClosedError);
  lease.release();
  hold.release();
  w.release();
  CHECK_THROWS_AS(scope.close(), ClosedError);
}

TEST_CASE("R63: a closed manager gives its storage back") {
  World world;
  world.put("x", 256, kPinned);
  const auto region = memory::Region::make(world.stepped, kPinned, std::nullopt);
  memory::Block block = region->allocate(256);
  world.manager->adopt(std::move(block), kPinned, make_spec("y", 256));
  CHECK(region->allocated() == 256);
  world.manager->close();
  CHECK(region->allocated() == 0);
}
