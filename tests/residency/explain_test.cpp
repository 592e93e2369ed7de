#include <random>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/residency/explain.hpp>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

State make_state(const std::map<Location, Bytes>& budgets) { return State(ManagerId{3}, budgets); }

HandleId put(State& state, const std::string& name, Bytes bytes, Location at) {
  return std::get<HandleId>(state.adopt(make_spec(name, bytes), at, bytes));
}

}  // namespace

TEST_CASE("R40: an explanation tells each action's endpoints and bytes, and each location's peak") {
  State state = make_state({{kDevice, 4096}});
  const HandleId cold = put(state, "cold", 1024, kPinned);
  state.apply(Ensure{cold, kDevice, {}});
  const HandleId x = put(state, "x", 2000, kPinned);
  Plan plan;
  plan.name = "tile";
  plan.reclaim = {Drop{cold, kDevice}};
  plan.reservations = {{kDevice, 1000, "workspace"}};
  plan.enter = {Ensure{x, kDevice, {}}, Ensure{x, kDevice, {}}};
  plan.exit = {Move{x, kPageable, kDevice}};
  const auto version = state.version();
  const Explanation told = explain(state, plan);
  CHECK(state.version() == version);
  CHECK(state.record(x).materializations.size() == 1);
  CHECK(told.feasible);
  CHECK(told.state_version == version);
  REQUIRE(told.actions.size() == 4);
  CHECK(told.actions[0].phase == Phase::reclaim);
  CHECK(told.actions[0].source == kDevice);
  CHECK(told.actions[1].source == kPinned);
  CHECK(told.actions[1].destination == kDevice);
  CHECK(told.actions[1].bytes == 2000);
  CHECK(told.actions[2].no_op);
  CHECK(told.actions[2].reason == "already there");
  CHECK(told.actions[3].phase == Phase::exit);
  CHECK(told.moved_bytes() == 4000);
  const LocationExplanation* device = told.at(kDevice);
  REQUIRE(device != nullptr);
  CHECK(device->charged_before == 1024);
  CHECK(device->peak_charged == 1024 + 2048);
  CHECK(device->charged_after == 0);
  CHECK(told.at(kPageable)->charged_after == 2048);
}

TEST_CASE("R40: holders of the peak are values and reservations, largest first") {
  State state = make_state({{kDevice, 4096}});
  const HandleId a = put(state, "a", 256, kDevice);
  const HandleId b = put(state, "b", 1024, kPinned);
  Plan plan;
  plan.name = "p";
  plan.reservations = {{kDevice, 512, "workspace"}};
  plan.enter = {Ensure{b, kDevice, {}}};
  plan.exit = {Drop{b, kDevice}};
  const Explanation told = explain(state, plan);
  const auto& holders = told.at(kDevice)->holders;
  REQUIRE(holders.size() == 3);
  CHECK(holders[0].value == b);
  CHECK(holders[1].name == "workspace");
  CHECK_FALSE(holders[1].value);
  CHECK(holders[2].value == a);
  CHECK(explain(state, plan, Detail::brief).at(kDevice)->holders.empty());
}

TEST_CASE("R40: a load's temporary charge counts in the predicted peak and among its holders") {
  State state = make_state({{kPinned, 2048}, {kDevice, 2048}});
  const HandleId s = state.register_source(reconstructible("s", 1024), kPinned);
  Plan plan;
  plan.name = "p";
  plan.enter = {Ensure{s, kDevice, {}}};
  const Explanation told = explain(state, plan);
  CHECK(told.at(kPinned)->peak_charged == 1024);
  CHECK(told.at(kPinned)->charged_after == 0);
  REQUIRE(told.at(kPinned)->holders.size() == 1);
  CHECK(told.at(kPinned)->holders[0].value == s);
}

TEST_CASE("R40: the first refusal names phase, index, value, place and what is short, and ends the run") {
  State state = make_state({{kDevice, 1024}});
  put(state, "big", 768, kDevice);
  const HandleId x = put(state, "x", 512, kPinned);
  Plan plan;
  plan.name = "p";
  plan.enter = {Ensure{x, kDevice, {}}, Ensure{x, kPageable, {}}};
  const Explanation told = explain(state, plan);
  CHECK_FALSE(told.feasible);
  CHECK(told.phase == Phase::enter);
  REQUIRE(told.refusal);
  CHECK(told.refusal->rule == Refusal::Rule::budget);
  CHECK(
      told.reason ==
      "enter[0] ensure 'x' at cuda:0: 512 B requested at cuda:0, but of a budget of 1024 B (1 KiB) are 768 B "
      "used and 0 B reserved: 256 B short");
  CHECK_FALSE(told.actions[0].executable);
  CHECK(told.actions[1].reason == "not reached");
  REQUIRE(told.at(kDevice)->holders.size() == 1);
  CHECK(told.at(kDevice)->holders[0].name == "big");
}

TEST_CASE("R39: reservations are admitted after reclaim and before enter, and are gone at the end") {
  State state = make_state({{kDevice, 1024}});
  const HandleId cold = put(state, "cold", 1024, kPinned);
  state.apply(Ensure{cold, kDevice, {}});
  const HandleId x = put(state, "x", 512, kPinned);
  Plan plan;
  plan.name = "p";
  plan.reclaim = {Drop{cold, kDevice}};
  plan.reservations = {{kDevice, 512, "w"}};
  plan.enter = {Ensure{x, kDevice, {}}};
  CHECK(explain(state, plan).feasible);
  plan.reclaim.clear();
  CHECK(explain(state, plan).phase == Phase::reserve);
  plan.reclaim = {Drop{cold, kDevice}};
  const Simulation simulation = simulate(state, plan);
  CHECK(simulation.state.reservations().empty());
  CHECK(simulation.state.account(kDevice)->used == 512);
}

TEST_CASE("R38, R39: what a plan produces is adopted out of its reservations before exit runs") {
  State state = make_state({{kDevice, 1024}});
  const HandleId y = state.announce(make_spec("y", 1024));
  Plan plan;
  plan.name = "p";
  plan.reservations = {{kDevice, 1024, "outputs"}};
  plan.produce = {{y, kDevice, 0}};
  plan.exit = {Move{y, kPinned, {}}};
  const Simulation simulation = simulate(state, plan);
  CHECK(simulation.explanation.feasible);
  CHECK(simulation.explanation.at(kDevice)->peak_charged == 1024);
  CHECK(simulation.state.account(kDevice)->used == 0);
  CHECK(simulation.state.account(kPinned)->used == 1024);
  plan.reservations[0].bytes = 512;
  const Explanation refused = simulate(state, plan).explanation;
  CHECK_FALSE(refused.feasible);
  CHECK_FALSE(refused.phase);
  CHECK(refused.reason.find("produce[0] 'y' at cuda:0") != std::string::npos);
}

TEST_CASE("R38: an announced value is nowhere until it gets its bytes, and gets them once") {
  State state = make_state({{kDevice, 4096}});
  const HandleId y = state.announce(make_spec("y", 1024));
  const auto ensured = state.apply(Ensure{y, kDevice, {}});
  REQUIRE(std::holds_alternative<Refusal>(ensured));
  CHECK(std::get<Refusal>(ensured).rule == Refusal::Rule::unavailable);
  const auto paying = state.reserve({kDevice, 2048, "outputs"});
  const ReservationId from = std::get<ReservationId>(paying);
  CHECK_FALSE(state.adopt(y, kDevice, 1024, from));
  CHECK(state.record(y).at(kDevice) != nullptr);
  CHECK(state.account(kDevice)->used == 1024);
  CHECK(state.account(kDevice)->reserved == 1024);
  const auto again = state.adopt(y, kDevice, 1024, from);
  REQUIRE(again);
  CHECK(again->rule == Refusal::Rule::not_announced);
  CHECK(state.account(kDevice)->reserved == 1024);
}

TEST_CASE("R39: a plan without a name, or with a reservation without a label, is a bad argument") {
  State state = make_state({});
  CHECK_THROWS_AS(explain(state, Plan{}), std::invalid_argument);
  Plan plan;
  plan.name = "p";
  plan.reservations = {{kDevice, 1, ""}};
  CHECK_THROWS_AS(explain(state, plan), std::invalid_argument);
}

TEST_CASE("R45: a raw sequence is explained in phase execute") {
  State state = make_state({});
  const HandleId x = put(state, "x", 512, kPinned);
  const Action actions[] = {Ensure{x, kDevice, {}}, Drop{x, kPinned}, Drop{x, kDevice}};
  const Explanation told = simulate(state, "raw", actions).explanation;
  CHECK_FALSE(told.feasible);
  CHECK(told.phase == Phase::execute);
  CHECK(told.actions[1].executable);
  CHECK(told.reason.find("execute[2] drop 'x' at cuda:0") == 0);
}

TEST_CASE("R40: what a chain of plans remembers of a location's residents changes nothing of what is told") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  State state = make_state({{kPinned, 1 << 24}, {kDevice, 1 << 24}});
  std::vector<HandleId> values;
  for (int i = 0; i < 150; ++i)
    values.push_back(put(state, "v" + std::to_string(i), 256 * (1 + random() % 4), kPinned));
  HolderMemo memo;
  std::size_t most_left_out = 0;
  for (int step = 0; step < 60; ++step) {
    Plan plan;
    plan.name = "step";
    if (random() % 3 == 0) plan.reservations = {{kDevice, 256 * (1 + random() % 4), "workspace"}};
    // Seldom too little: then most residents are new to the memo.
    for (std::uint64_t i = random() % 20; i-- > 0;) {
      const HandleId value = values[random() % values.size()];
      if (random() % 3 == 0)
        plan.reclaim.push_back(Drop{value, kDevice});
      else
        plan.enter.push_back(Ensure{value, kDevice, {}});
    }
    const Simulation remembered = simulate(state, {}, plan, Detail::budgeted, &memo);
    const Simulation anew = simulate(state, {}, plan, Detail::budgeted);
    REQUIRE(remembered.explanation.locations.size() == anew.explanation.locations.size());
    for (const LocationExplanation& expected : anew.explanation.locations) {
      const LocationExplanation& told = *remembered.explanation.at(expected.at);
      CAPTURE(step);
      CHECK(told.more_holders == expected.more_holders);
      CHECK(told.more_bytes == expected.more_bytes);
      most_left_out = std::max(most_left_out, told.more_holders);
      REQUIRE(told.holders.size() == expected.holders.size());
      for (std::size_t i = 0; i < told.holders.size(); ++i) {
        CHECK(told.holders[i].value == expected.holders[i].value);
        CHECK(told.holders[i].name == expected.holders[i].name);
        CHECK(told.holders[i].charged == expected.holders[i].charged);
      }
    }
    state = remembered.state;
  }
  CHECK(most_left_out > 40);
}
