// Kinds of faults that projects which do this job are known for; none may exist here. docs/rules.md lists all of them.
#include <functional>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using fheres::test::Call;

TEST_CASE("R24: headroom counts reservations: used 60, reserved 30, budget 100, enter 20 never exceeds 100") {
  World world({{kDevice, 100 * kUnit}});
  const HandleId resident = world.put("resident", 60 * kUnit, kPageable);
  world.manager->ensure(resident, kDevice);
  const HandleId a = world.put("a", 20 * kUnit, kPageable, 1);
  const Reservation others = world.manager->reserve(kDevice, 30 * kUnit, "others");
  const auto error = caught<BudgetError>([&] { world.manager->ensure(a, kDevice); });
  CHECK(error.budget == 100 * kUnit);
  CHECK(error.used == 60 * kUnit);
  CHECK(error.reserved == 30 * kUnit);
  CHECK(error.requested == 20 * kUnit);

  Plan plan{"enter", {}, {}, {Ensure{a, kDevice, {}}}};
  CHECK_FALSE(world.manager->explain(plan).feasible);
  plan.reclaim = {Drop{resident, kDevice}};
  CHECK(world.manager->explain(plan).at(kDevice)->peak_charged == 90 * kUnit);
  Scope scope = world.manager->scope(plan);
  scope.run([&](Scope&) { CHECK(world.account(kDevice).used == 20 * kUnit); });
  CHECK(world.account(kDevice).peak_charged == 90 * kUnit);
  CHECK(world.first_byte(a, kDevice) == 1);
}

TEST_CASE("R35, R40: where everything is held, one more is refused at once, and explain lists the holders") {
  World world({{kDevice, 100 * kUnit}});
  std::vector<HandleId> values;
  for (int i = 0; i < 10; ++i) {
    values.push_back(world.put("held" + std::to_string(i), 10 * kUnit, kPageable));
    world.manager->ensure(values.back(), kDevice);
  }
  const Hold hold = world.manager->hold(values, kDevice);
  const HandleId more = world.put("more", 10 * kUnit, kPageable);
  const auto before = world.manager->state_version();
  CHECK_THROWS_AS(world.manager->ensure(more, kDevice), BudgetError);
  const Explanation told = world.manager->explain({"more", {}, {}, {Ensure{more, kDevice, {}}}});
  CHECK_FALSE(told.feasible);
  REQUIRE(told.at(kDevice) != nullptr);
  REQUIRE(told.at(kDevice)->holders.size() == 10);
  for (const Holder& holder : told.at(kDevice)->holders) CHECK(holder.protection.hold == 1);
  CHECK(world.manager->state_version() == before);
}

TEST_CASE("R16, R40: a host value whose creation needs device room shows the device's charge in explain") {
  World world({{kDevice, 2 * kUnit}, {kPinned, 4 * kUnit}});
  const HandleId s = world.source("s", kUnit, kDevice, 3);
  const Plan plan{"make", {}, {}, {Ensure{s, kPinned, {}}}};
  const Explanation told = world.manager->explain(plan);
  REQUIRE(told.at(kDevice) != nullptr);
  CHECK(told.at(kDevice)->peak_charged == kUnit);
  CHECK(told.at(kDevice)->charged_after == 0);
  REQUIRE(told.at(kDevice)->holders.size() == 1);
  CHECK(told.at(kDevice)->holders[0].value == s);
  {
    const Reservation others = world.manager->reserve(kDevice, 2 * kUnit, "others");
    CHECK(world.manager->explain(plan).refusal->at == kDevice);
    CHECK(caught<BudgetError>([&] { world.manager->ensure(s, kPinned); }).at == kDevice);
    CHECK(world.accounts_hold());
  }
  world.manager->clear_trace();
  world.manager->ensure(s, kPinned);
  CHECK(world.first_byte(s, kPinned) == 3);
  CHECK(world.account(kDevice).used + world.account(kDevice).reserved == 0);
}

TEST_CASE("R20, R26: an allocation that fails upstream is un-counted, however it was asked for") {
  // The machine's device has less than what is asked for, and the manager knows no budget.
  constexpr Bytes kRoom = 64 * kMiB, kMore = 65 * kMiB;
  const auto machine = memory::make_stepped_driver({.devices = 1, .device_bytes = kRoom});
  const auto faulty = std::make_shared<fheres::test::FaultyDriver>(machine);
  Manager manager(faulty);
  const HandleId x = manager.adopt(manager.allocate(kPageable, kMore), kPageable, make_spec("x", kMore));
  const HandleId s = manager.register_source(
      reconstructible("s", kMore), [](LoadContext& context) { return context.allocate(); }, kDevice);
  const std::vector<std::function<void()>> requests = {
      [&] { manager.ensure(x, kDevice); },
      [&] { manager.move(x, kDevice); },
      [&] { manager.ensure(s, kDevice); },
      [&] { manager.ensure(s, kPageable); },
      [&] { manager.allocate(kDevice, kMore); },
      [&] {
        Reservation room = manager.reserve(kDevice, kMore, "room");
        room.allocate(kMore);
      },
      [&] {
        Plan plan{"p", {}, {{kDevice, kUnit, "w"}}, {Ensure{x, kDevice, {}}}};
        try {
          manager.scope(plan).enter();
        } catch (const PlanExecutionError& error) {
          std::rethrow_exception(error.cause);
        }
      },
  };
  for (std::size_t which = 0; which < requests.size(); ++which) {
    CAPTURE(which);
    for (int again = 0; again < 20; ++again) {
      CHECK_THROWS_AS(requests[which](), memory::AllocationError);
      const Snapshot seen = manager.snapshot();
      if (const LocationSnapshot* device = seen.at(kDevice)) {
        CHECK(device->account.used == 0);
        CHECK(device->account.reserved == 0);
        CHECK(device->allocated == 0);
      }
      CHECK(machine->observe(kDevice)->free == kRoom);
    }
  }
  // All of the device is still there to use.
  CHECK_NOTHROW(manager.allocate(kDevice, kRoom));
  manager.close();
}

TEST_CASE("R9, R29: a value required twice at once is charged once per location, and protected once") {
  World world({{kDevice, kUnit}, {kPinned, kUnit}});
  const HandleId x = world.put("x", kUnit, kPageable, 1);
  const Ensure there{x, kDevice, {}}, pinned{x, kPinned, {}};
  const Plan plan{"twice", {}, {}, {there, pinned, there, pinned}};
  const Explanation told = world.manager->explain(plan);
  CHECK(told.feasible);
  CHECK(told.at(kDevice)->peak_charged == kUnit);
  CHECK(told.at(kPinned)->peak_charged == kUnit);
  world.manager->scope(plan).run([&](Scope& open) {
    CHECK(open.report().actions.at(2).transition.no_op());
    CHECK(world.account(kDevice).used == kUnit);
    CHECK(world.account(kPinned).used == kUnit);
    Lease lease = world.manager->acquire({x, x, x}, kPinned);
    const Hold hold = world.manager->hold({x, x}, kPinned);
    const State state = world.manager->planning_state();
    CHECK(state.record(x).at(kPinned)->protection == Protection{.use = 1, .hold = 1, .pending = 0});
  });
}
