#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R36: a reservation is charged until it is released, and needs a label") {
  World world({{kDevice, 1024}});
  CHECK_THROWS_AS(world.manager->reserve(kDevice, 256, ""), std::invalid_argument);
  const Reservation empty = world.manager->reserve(kDevice, 0, "empty");
  {
    Reservation w = world.manager->reserve(kDevice, 900, "w");
    CHECK(w.spec().bytes == 1024);
    CHECK(world.account(kDevice).reserved == 1024);
    CHECK_THROWS_AS(world.manager->reserve(kDevice, 1, "v"), BudgetError);
    w.release();
    CHECK(world.account(kDevice).reserved == 0);
    w.release();
    CHECK_THROWS_AS(w.allocate(1), LifetimeClosedError);
  }
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.manager->snapshot().reservations.size() == 1);
}

TEST_CASE("R36: blocks carved out of a reservation add no charge, and are bounded by it") {
  World world({{kDevice, 1024}});
  Reservation w = world.manager->reserve(kDevice, 1024, "w");
  Allocation first = w.allocate(500);
  CHECK(w.available() == 512);
  CHECK(world.account(kDevice).reserved == 1024);
  CHECK_THROWS_AS(w.allocate(513), BudgetError);
  {
    const Allocation second = w.allocate(512);
    CHECK(w.available() == 0);
  }
  CHECK(w.available() == 512);
  CHECK(world.accounts_hold());
}

TEST_CASE("R36: a block that outlives its reservation keeps its own bytes charged") {
  World world({{kDevice, 1024}});
  Allocation block;
  {
    Reservation w = world.manager->reserve(kDevice, 1024, "w");
    block = w.allocate(256);
  }
  CHECK(world.account(kDevice).reserved == 256);
  CHECK(world.accounts_hold());
  const HandleId x = world.manager->adopt(std::move(block), kDevice, make_spec("x", 256));
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.account(kDevice).used == 256);
  CHECK(world.at(x, kDevice));
}

TEST_CASE("R38: an output carved out of a reservation is adopted from it and never charged twice") {
  World world({{kDevice, 1024}});
  Reservation outputs = world.manager->reserve(kDevice, 1024, "outputs");
  Allocation y = outputs.allocate(512);
  Allocation z = outputs.allocate(512);
  world.manager->adopt(std::move(y), kDevice, make_spec("y", 512));
  CHECK(world.account(kDevice).used == 512);
  CHECK(world.account(kDevice).reserved == 512);
  CHECK(outputs.available() == 0);
  ValueSpec large = make_spec("z", 512);
  large.storage_bytes = 768;
  CHECK_THROWS_AS(world.manager->adopt(std::move(z), kDevice, large), BudgetError);
  world.manager->adopt(std::move(z), kDevice, make_spec("z", 512));
  outputs.release();
  CHECK(world.account(kDevice).used == 1024);
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.account(kDevice).peak_charged == 1024);
  CHECK(world.accounts_hold());
}

TEST_CASE("R38: a block of another region may be paid for by a reservation too") {
  World world({{kPinned, 1024}});
  Reservation outputs = world.manager->reserve(kPinned, 512, "outputs");
  const auto region = memory::Region::make(world.stepped, kPinned, std::nullopt);
  {
    const Allocation carved = outputs.allocate(256);
    memory::Block block = region->allocate(512);
    CHECK_THROWS_AS(world.manager->adopt(std::move(block), kPinned, make_spec("y", 512), outputs),
                    BudgetError);
  }
  memory::Block block = region->allocate(512);
  world.manager->adopt(std::move(block), kPinned, make_spec("y", 512), outputs);
  CHECK(world.account(kPinned).reserved == 0);
  CHECK(world.account(kPinned).used == 512);
  outputs.release();
  memory::Block late = region->allocate(256);
  World other;
  Reservation foreign = other.manager->reserve(kPinned, 512, "outputs");
  CHECK_THROWS_AS(world.manager->adopt(std::move(late), kPinned, make_spec("z", 256), foreign),
                  std::invalid_argument);
  CHECK_THROWS_AS(world.manager->adopt(std::move(late), kPinned, make_spec("z", 256), outputs),
                  LifetimeClosedError);
}
