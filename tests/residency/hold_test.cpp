#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R35: a hold keeps values in place until it is released, all or none of them") {
  World world;
  const HandleId a = world.put("a", 256, kPinned);
  const HandleId b = world.put("b", 256, kPageable);
  CHECK_THROWS_AS(world.manager->hold({a, b}, kPinned), UnavailableError);
  CHECK_THROWS_AS(world.manager->hold({}, kPinned), std::invalid_argument);
  CHECK_NOTHROW(world.manager->move(a, kDevice));
  Hold hold = world.manager->hold({a}, kDevice);
  CHECK_THROWS_AS(world.manager->move(a, kPinned), InUseError);
  CHECK_THROWS_AS(world.manager->discard(a), InUseError);
  CHECK_NOTHROW(world.manager->ensure(a, kPinned));
  CHECK_NOTHROW(world.manager->drop(a, kPinned));
  hold.release();
  CHECK_FALSE(hold.active());
  CHECK_NOTHROW(world.manager->move(a, kPinned));
}

TEST_CASE("R37: releasing twice changes nothing, and any thread may release") {
  World world;
  const HandleId a = world.put("a", 256, kPinned);
  Hold first = world.manager->hold({a}, kPinned);
  const Hold second = world.manager->hold({a}, kPinned);
  std::thread([&] { first.release(); }).join();
  first.release();
  const MaterializationSnapshot m = world.manager->snapshot().values[0].materializations[0];
  CHECK(m.protection == Protection{.use = 0, .hold = 1, .pending = 0});
  Hold moved = std::move(first);
  moved.release();
  CHECK(world.manager->snapshot().values[0].materializations[0].protection.hold == 1);
}
