#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R5: a registered source is not loaded, and needs a reconstructible specification and a function") {
  World world;
  bool ran = false;
  const HandleId s = world.manager->register_source(
      reconstructible("s", 256),
      [&](LoadContext& context) {
        ran = true;
        return context.allocate();
      },
      kPinned);
  CHECK_FALSE(ran);
  CHECK(world.manager->snapshot().values[s.serial].source == kPinned);
  CHECK(world.manager->snapshot().values[s.serial].materializations.empty());
  const Source source = [](LoadContext& context) { return context.allocate(); };
  CHECK_THROWS_AS(world.manager->register_source(make_spec("s", 256), source, kPinned),
                  std::invalid_argument);
  CHECK_THROWS_AS(world.manager->register_source(reconstructible("s", 256), {}, kPinned),
                  std::invalid_argument);
  CHECK_THROWS_AS(world.manager->register_source(reconstructible("s", 256), source, Location::cuda(9)),
                  std::invalid_argument);
}

TEST_CASE("R16: a load leaves a copy only at the destination, and its temporary charge ends") {
  World world({{kPinned, 512}, {kDevice, 512}});
  const HandleId s = world.source("s", 512, kPinned, 0x33);
  world.manager->ensure(s, kDevice);
  CHECK(world.first_byte(s, kDevice) == 0x33);
  CHECK_FALSE(world.at(s, kPinned));
  CHECK(world.account(kPinned).reserved == 0);
  CHECK(world.account(kPinned).peak_charged == 512);
  CHECK(world.manager->snapshot().at(kPinned)->allocated == 0);
  world.manager->drop(s, kDevice);
  world.manager->ensure(s, kPinned);
  CHECK(world.account(kPinned).used == 512);
  CHECK(world.account(kPinned).peak_charged == 512);
  CHECK(world.accounts_hold());
}

TEST_CASE("R16: move of an unloaded value loads it, and is refused with an explicit source") {
  World world;
  const HandleId s = world.source("s", 512, kPinned, 0x33);
  CHECK_THROWS_AS(world.manager->move(s, kDevice, kPinned), UnavailableError);
  CHECK(world.manager->move(s, kDevice).work == Transition::Work::load);
  CHECK(world.first_byte(s, kDevice) == 0x33);
}

TEST_CASE("R16: a source may work on the device's stream, and is waited for") {
  World world;
  const HandleId s = world.manager->register_source(
      reconstructible("s", 256),
      [](LoadContext& context) {
        memory::Block block = context.allocate();
        std::byte* data = block.data();
        context.driver().enqueue(context.stream(), [data] { *data = std::byte{0x42}; });
        return block;
      },
      kDevice);
  world.manager->ensure(s, kPageable);
  CHECK(world.first_byte(s, kPageable) == 0x42);
}

TEST_CASE("R17: a loaded block is checked, and the registration survives a bad one") {
  World world({{kPinned, 1024}});
  int attempt = 0;
  const HandleId s = world.manager->register_source(
      reconstructible("s", 500),
      [&](LoadContext& context) -> Loaded {
        switch (++attempt) {
          case 1:
            return {context.allocate(), "another"};
          case 2:
            return memory::Region::make(world.stepped, kPageable, std::nullopt)->allocate(500);
          case 3:
            return context.allocate(499);
          case 4:
            return memory::Region::make(world.stepped, kPinned, std::nullopt)->allocate(513);
          case 5:
            return memory::Block{};
          case 6:
            return context.allocate(513);
          case 7:
            throw std::runtime_error("no file");
          default:
            return {context.allocate(512), "bytes"};
        }
      },
      kPinned);
  for (int i = 1; i <= 6; ++i) {
    CAPTURE(i);
    CHECK_THROWS_AS(world.manager->ensure(s, kPinned), MaterializationError);
    CHECK(world.account(kPinned).used == 0);
  }
  CHECK_THROWS_WITH(world.manager->ensure(s, kPinned), "no file");
  CHECK(world.account(kPinned).reserved == 0);
  world.manager->ensure(s, kPinned);
  CHECK(world.manager->snapshot().values[0].materializations[0].actual_bytes == 512);
  CHECK(world.accounts_hold());
}

TEST_CASE("R18: during a load every operation raises ReentrancyError, but releases and lookups work") {
  World world;
  Manager& m = *world.manager;
  const HandleId x = world.put("x", 256, kPinned, 5);
  Lease lease = m.acquire({x}, kPinned);
  Hold hold = m.hold({x}, kPinned);
  Reservation reservation = m.reserve(kPinned, 512, "w");
  Allocation block = m.allocate(kPinned, 256);
  Plan plan;
  plan.name = "p";
  Scope late = m.scope(plan);
  int refused = 0;
  const auto refuse = [&](auto work) {
    CHECK_THROWS_AS(work(), ReentrancyError);
    ++refused;
  };
  const HandleId s = m.register_source(
      reconstructible("s", 256),
      [&](LoadContext& context) {
        refuse([&] { m.ensure(x, kDevice); });
        refuse([&] { m.drop(x, kPinned); });
        refuse([&] { m.discard(x); });
        refuse([&] { m.allocate(kPinned, 256); });
        refuse([&] { m.adopt(std::move(block), kPinned, make_spec("y", 256)); });
        refuse([&] { m.acquire({x}, kPinned); });
        refuse([&] { m.hold({x}, kPinned); });
        refuse([&] { m.reserve(kPinned, 1, "v"); });
        refuse([&] { reservation.allocate(256); });
        refuse([&] { m.explain(plan); });
        refuse([&] { m.execute_actions({}, "raw"); });
        refuse([&] { late.enter(); });
        refuse([&] { m.snapshot(); });
        refuse([&] { m.state_version(); });
        refuse([&] { m.planning_state(); });
        refuse([&] { m.trace(); });
        refuse([&] { m.clear_trace(); });
        refuse([&] { m.spec(x); });
        refuse([&] { m.closed(); });
        refuse([&] { m.close(); });
        std::thread([&] { refuse([&] { m.ensure(x, kDevice); }); }).join();
        CHECK(m.manager_id() == x.manager);
        CHECK_NOTHROW(m.scope(plan));
        CHECK(*lease.view(x).data == std::byte{5});
        lease.release();
        hold.release();
        reservation.release();
        return context.allocate();
      },
      kPinned);
  m.ensure(s, kDevice);
  CHECK(refused == 21);
  CHECK_NOTHROW(m.drop(s, kDevice));
  CHECK(world.account(kPinned).reserved == 256);
  CHECK_NOTHROW(late.enter());
}

TEST_CASE("R18: the manager opens again when a load throws") {
  World world;
  const HandleId s = world.manager->register_source(
      reconstructible("s", 256), [](LoadContext&) -> Loaded { throw std::runtime_error("no"); }, kPinned);
  CHECK_THROWS_AS(world.manager->ensure(s, kDevice), std::runtime_error);
  CHECK_NOTHROW(world.manager->state_version());
}

TEST_CASE("R18: a thread that waits for a transition raises ReentrancyError when that transition loads") {
  World world;
  Manager& m = *world.manager;
  const HandleId x = world.put("x", 256, kPinned);
  std::thread waiter;
  const HandleId s = m.register_source(
      reconstructible("s", 256),
      [&](LoadContext& context) {
        waiter = std::thread([&] { CHECK_THROWS_AS(m.ensure(x, kDevice), ReentrancyError); });
        waiter.join();
        return context.allocate();
      },
      kPinned);
  m.ensure(s, kDevice);
  CHECK_FALSE(world.at(x, kDevice));
}
