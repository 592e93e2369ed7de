// Which source a copy reads (R14), and copies between devices (R64).
#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

Transition resolved(const State& state, const Action& action) {
  return std::get<Transition>(state.resolve(action));
}

}  // namespace

TEST_CASE(
    "R14: the fastest source is read where the manager is made so, and the first in location order "
    "otherwise") {
  const CopyRules fastest{SourceOrder::fastest, {}};
  World first, fast({}, 2, fastest);
  for (World* world : {&first, &fast}) {
    const HandleId x = world->put("x", 512, kPageable, 1);
    world->manager->ensure(x, kPinned);
    const TransitionReport report = world->manager->ensure(x, kDevice);
    CHECK(report.source == (world == &fast ? kPinned : kPageable));
    // pinned-host at 55 GB/s before a staged copy between devices, and that before pageable-host.
    CHECK(world->manager->ensure(x, kOther).source == (world == &fast ? kPinned : kPageable));
    world->manager->drop(x, kOther);
    world->manager->drop(x, kPinned);
    CHECK(world->manager->ensure(x, kOther).source == (world == &fast ? kDevice : kPageable));
    world->manager->drop(x, kOther);
    // A named one is read, however slow, and a move removes what it has read.
    CHECK(world->manager->ensure(x, kOther, kPageable).source == kPageable);
    const TransitionReport moved = world->manager->move(x, kPinned);
    CHECK(moved.source == (world == &fast ? kDevice : kPageable));
    CHECK_FALSE(world->at(x, *moved.source));
  }
}

TEST_CASE("R14: sources of equal bandwidth, or of none that is known, are read in location order") {
  State state(ManagerId{1}, {}, 3, {SourceOrder::fastest, {}});
  const HandleId x = std::get<HandleId>(state.adopt(make_spec("x", 256), kOther, 256));
  state.apply(Ensure{x, kDevice, {}});
  CHECK(resolved(state, Ensure{x, Location::cuda(2), {}}).source == kDevice);
  const HandleId y = std::get<HandleId>(state.adopt(make_spec("y", 256), kPageable, 256));
  CHECK(resolved(state, Ensure{y, kPinned, {}}).source == kPageable);
}

TEST_CASE("R64: a copy between devices is staged at pinned-host, and charged there in full while it runs") {
  World world({{kPinned, 1024}});
  const HandleId x = world.put("x", 500, kDevice, 3);
  const TransitionReport report = world.manager->ensure(x, kOther);
  CHECK(report.source == kDevice);
  CHECK(world.first_byte(x, kOther) == 3);
  CHECK(world.account(kPinned).reserved == 0);
  CHECK(world.account(kPinned).used == 0);
  CHECK(world.account(kPinned).peak_used == 0);
  CHECK(world.account(kPinned).peak_charged == 512);
  CHECK(world.accounts_hold());
}

TEST_CASE(
    "R64: without room for its staging a copy between devices is refused, and explain shows the charge") {
  World world({{kPinned, 1024}});
  const HandleId x = world.put("x", 512, kDevice, 3);
  const HandleId held = world.put("held", 768, kPinned);
  const auto error = caught<BudgetError>([&] { world.manager->move(x, kOther); });
  CHECK(error.at == kPinned);
  CHECK(error.used == 768);
  CHECK(error.requested == 512);
  CHECK(world.at(x, kDevice));
  CHECK(world.accounts_hold());

  Plan plan;
  plan.name = "p";
  plan.enter = {Move{x, kOther, {}}};
  CHECK_FALSE(world.manager->explain(plan).feasible);
  plan.reclaim = {Move{held, kPageable, {}}};
  const Explanation told = world.manager->explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.actions[1].staged_bytes == 512);
  REQUIRE(told.at(kPinned) != nullptr);
  CHECK(told.at(kPinned)->peak_charged == 768);
  CHECK(told.at(kPinned)->charged_after == 0);
}

TEST_CASE("R64: peers copy to each other directly") {
  World world({{kPinned, 0}}, 2, {SourceOrder::location_order, {{kDevice, kOther}}});
  const HandleId x = world.put("x", 512, kOther, 3);
  world.manager->move(x, kDevice);
  CHECK(world.first_byte(x, kDevice) == 3);
  world.manager->ensure(x, kOther);
  CHECK(world.account(kPinned).peak_charged == 0);
}

TEST_CASE("R64: a value that is made on one device for another is staged as well") {
  World world({{kPinned, 512}, {kDevice, 512}});
  const HandleId s = world.source("s", 512, kDevice, 4);
  world.manager->ensure(s, kOther);
  CHECK(world.first_byte(s, kOther) == 4);
  CHECK(world.account(kPinned).peak_charged == 512);
  CHECK(world.account(kDevice).peak_charged == 512);
  CHECK_FALSE(world.at(s, kDevice));
}

TEST_CASE("R64: an asynchronous copy between devices keeps its staging charged until it is settled") {
  World world({{kPinned, 512}});
  const HandleId x = world.put("x", 512, kDevice, 5);
  world.stepped->hold(world.manager->transfer_stream(kOther));
  world.manager->prefetch(x, kOther);
  world.stepped->run_until_idle();
  CHECK(world.account(kPinned).reserved == 512);
  CHECK(world.accounts_hold());
  CHECK_THROWS_AS(world.put("y", 256, kPinned), BudgetError);
  const std::vector<Holder> there = holders(world.manager->planning_state(), kPinned);
  REQUIRE(there.size() == 1);
  CHECK(there[0].name == "x");
  CHECK(there[0].charged == 512);
  world.stepped->let_go(world.manager->transfer_stream(kOther));
  world.manager->settle(x, kOther);
  CHECK(world.account(kPinned).reserved == 0);
  CHECK(world.accounts_hold());
  CHECK(world.first_byte(x, kOther) == 5);
}

TEST_CASE("R64: peers that the machine's devices are not are refused when the manager is made") {
  for (const auto& pair :
       {std::pair(kDevice, Location::cuda(2)), std::pair(kDevice, kDevice), std::pair(kPinned, kDevice)}) {
    const auto error = caught<std::invalid_argument>([&] {
      World world({}, 2, {SourceOrder::fastest, {pair}});
    });
    CHECK(std::string(error.what()).find(pair.second.name()) != std::string::npos);
  }
}

TEST_CASE("R27, R64: explain predicts the compaction that a copy's staging needs, and who prevents it") {
  World world({{kPinned, 4 * 512}});
  std::vector<HandleId> values;
  for (int i = 0; i < 4; ++i) {
    values.push_back(world.put("v" + std::to_string(i), 512, kPageable, static_cast<unsigned char>(i)));
    world.manager->ensure(values.back(), kPinned);
  }
  world.manager->drop(values[0], kPinned);
  world.manager->drop(values[2], kPinned);
  const HandleId x = world.put("x", 1024, kDevice, 5);
  const Plan plan{"over", {}, {}, {Ensure{x, kOther, {}}}};
  {
    const Hold hold = world.manager->hold({values[1]}, kPinned);
    const Explanation told = world.manager->explain(plan);
    CHECK_FALSE(told.feasible);
    REQUIRE(told.refusal);
    CHECK(told.refusal->rule == Refusal::Rule::fragmented);
    CHECK(told.refusal->at == kPinned);
    CHECK(*told.refusal->in_the_way == std::vector<std::string>{"v1"});
    CHECK_THROWS_AS(world.manager->scope(plan).enter(), PlanError);
    const auto error = caught<FragmentedError>([&] { world.manager->ensure(x, kOther); });
    CHECK(error.in_the_way == std::vector<std::string>{"v1"});
    CHECK_FALSE(world.at(x, kOther));
    CHECK(world.accounts_hold());
  }
  const Explanation told = world.manager->explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.at(kPinned)->compacted == 512);
  CHECK(world.manager->ensure(x, kOther).compacted == told.actions[0].compacted);
  CHECK(world.first_byte(x, kOther) == 5);
  CHECK(world.first_byte(values[1], kPinned) == 1);
  CHECK(world.first_byte(values[3], kPinned) == 3);
}

TEST_CASE("R23, R27, R64: the staging of an arrival is free again once it is settled, as explain foresees") {
  World world({{kPinned, 1024}});
  const HandleId x = world.put("x", 768, kDevice, 1);
  const HandleId y = world.put("y", 1024, kPageable, 2);
  Plan plan;
  plan.name = "settles";
  plan.prefetch = {Ensure{x, kOther, {}, true}};
  plan.exit = {Drop{x, kOther}, Ensure{y, kPinned, {}}};
  CHECK(world.manager->explain(plan).feasible);
  // The same where it is under way already.
  world.manager->prefetch(x, kOther);
  plan.prefetch.clear();
  const Explanation told = world.manager->explain(plan);
  CHECK_MESSAGE(told.feasible, told.reason);
  Scope scope = world.manager->scope(plan);
  scope.enter();
  scope.close();
  CHECK(world.first_byte(y, kPinned) == 2);
}
