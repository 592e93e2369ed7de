#include <stdexcept>
#include <type_traits>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R2: budgets are checked and copied when the manager is made, and zero is a budget") {
  CHECK_THROWS_AS(World({{Location::cuda(5), 256}}), std::invalid_argument);
  World world({{kDevice, 0}});
  CHECK(world.account(kDevice).budget == Bytes{0});
  CHECK_THROWS_AS(world.put("x", 1, kDevice), BudgetError);
  World free;
  CHECK(free.manager->snapshot().locations.empty());
  free.put("x", 1, Location::cuda(1));
  CHECK(free.manager->snapshot().locations.size() == 1);
  CHECK_FALSE(free.account(Location::cuda(1)).budget);
}

TEST_CASE("R3: an absent cuda location is refused and gets no account") {
  World world;
  const HandleId x = world.put("x", 256, kPageable);
  const auto version = world.manager->state_version();
  CHECK_THROWS_AS(world.manager->allocate(Location::cuda(2), 256), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->ensure(x, Location::cuda(2)), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->reserve(Location::cuda(2), 256, "w"), std::invalid_argument);
  CHECK(world.manager->state_version() == version);
  CHECK(world.manager->snapshot().at(Location::cuda(2)) == nullptr);
}

TEST_CASE("R4: adopting moves the block in, and a failed adopt leaves it with its owner") {
  World world({{kDevice, 1024}});
  Allocation block = world.manager->allocate(kDevice, 512);
  std::byte* const data = block.data();
  CHECK_THROWS_AS(world.manager->adopt(std::move(block), kPinned, make_spec("x", 512)), MaterializationError);
  CHECK_THROWS_AS(world.manager->adopt(std::move(block), kDevice, make_spec("x", 513)), MaterializationError);
  CHECK_THROWS_AS(world.manager->adopt(std::move(block), kDevice, make_spec("x", 256)), MaterializationError);
  REQUIRE(block);
  CHECK(world.manager->snapshot().values.empty());
  CHECK(world.account(kDevice).reserved == 512);
  const HandleId x = world.manager->adopt(std::move(block), kDevice, reconstructible("x", 512));
  CHECK_FALSE(block);
  CHECK(world.account(kDevice).used == 512);
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.account(kDevice).peak_charged == 512);
  CHECK(world.manager->spec(x).recoverability == Recoverability::must_preserve);
  Lease lease = world.manager->acquire({x}, kDevice, world.stepped->make_stream(kDevice, "s"));
  CHECK(lease.view(x).data == data);
}

TEST_CASE("R4: a block that nobody adopts is charged until it is destroyed") {
  World world({{kDevice, 512}});
  {
    const Allocation block = world.manager->allocate(kDevice, 300);
    CHECK(world.account(kDevice).reserved == 512);
    CHECK(world.manager->snapshot().reservations[0].spec.label == "unadopted");
    CHECK_THROWS_AS(world.manager->allocate(kDevice, 1), BudgetError);
  }
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.accounts_hold());
}

TEST_CASE("R7: a lone block's charge grows to its value's storage bytes, under admission") {
  World world({{kDevice, 1024}});
  ValueSpec spec = make_spec("x", 256);
  spec.storage_bytes = 1280;
  Allocation block = world.manager->allocate(kDevice, 256);
  CHECK_THROWS_AS(world.manager->adopt(std::move(block), kDevice, spec), BudgetError);
  CHECK(world.account(kDevice).reserved == 256);
  spec.storage_bytes = 1024;
  world.manager->adopt(std::move(block), kDevice, spec);
  CHECK(world.account(kDevice).used == 1024);
  CHECK(world.account(kDevice).reserved == 0);
}

TEST_CASE("R8: blocks are move-only, so no two values can share one, and an empty one is refused") {
  static_assert(!std::is_copy_constructible_v<memory::Block> && !std::is_copy_assignable_v<memory::Block>);
  static_assert(!std::is_copy_constructible_v<Allocation> && !std::is_copy_assignable_v<Allocation>);
  World world;
  Allocation block = world.manager->allocate(kPinned, 256);
  world.manager->adopt(std::move(block), kPinned, make_spec("x", 256));
  CHECK_THROWS_AS(world.manager->adopt(std::move(block), kPinned, make_spec("x", 256)),
                  std::invalid_argument);
  World other;
  Allocation foreign = other.manager->allocate(kPinned, 256);
  CHECK_THROWS_AS(world.manager->adopt(std::move(foreign), kPinned, make_spec("x", 256)), OwnershipError);
  CHECK(foreign);
}

TEST_CASE("R4: a block of another region is adopted under admission") {
  World world({{kPinned, 512}});
  const auto region = memory::Region::make(world.stepped, kPinned, std::nullopt);
  memory::Block block = region->allocate(512);
  const HandleId x = world.manager->adopt(std::move(block), kPinned, make_spec("x", 512));
  CHECK(world.account(kPinned).used == 512);
  memory::Block more = region->allocate(256);
  CHECK_THROWS_AS(world.manager->adopt(std::move(more), kPinned, make_spec("y", 256)), BudgetError);
  CHECK(more);
  world.manager->discard(x);
  CHECK(region->allocated() == 256);
}

TEST_CASE("R24: what a region has allocated never exceeds what its location is charged") {
  World world({{kDevice, 4096}});
  const HandleId x = world.put("x", 1000, kPinned);
  world.manager->ensure(x, kDevice);
  const Reservation held = world.manager->reserve(kDevice, 1024, "w");
  const LocationSnapshot seen = *world.manager->snapshot().at(kDevice);
  CHECK(seen.allocated == 1024);
  CHECK(seen.account.used + seen.account.reserved == 2048);
  CHECK(seen.largest_free == 3072);
  CHECK(world.accounts_hold());
}
