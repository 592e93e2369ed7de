#include <doctest/doctest.h>

#include <fheres/residency/explain.hpp>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

namespace {

// The workload that page 04 of the design shows: 37 MiB are exactly enough once the cold plaintext is gone.
struct Sample : World {
  explicit Sample(Bytes budget)
      : World({{pinned, 2 * kMiB}, {cuda0, budget}}, {{cuda0, {pinned, pageable}}}) {}
  HandleId x = put_exclusive("x", 2 * kMiB, pinned);
  HandleId half = put("half", kMiB, {pageable});
  HandleId cold = put("cold", kMiB, {pageable, cuda0});
  HandleId rot1 = put("rot1", 18 * kMiB, {pageable});
  Request request{
      "rotate-scale/tile-0", {{x, cuda0}, {rot1, cuda0}, {half, cuda0}}, {{cuda0, 16 * kMiB, "workspace"}}};
};

}  // namespace

TEST_CASE("R56 the sample's decision: the cold plaintext is the only victim, with its reason") {
  const Sample sample(37 * kMiB);
  const Decision decision = sample.decision(sample.request);
  REQUIRE(decision.evictions.size() == 1);
  const Eviction& cold = decision.evictions.front();
  CHECK(cold.reason() ==
        "cold: replica at cuda:0 dropped, a copy stays at pageable-host; 1 MiB released; priority 0, never "
        "accessed");
  CHECK(cold.rank == 0);
  CHECK(cold.released == cuda0);
  CHECK(cold.bytes == kMiB);
  CHECK(cold.action == residency::Action{residency::Drop{sample.cold, cuda0}});

  const residency::Plan expected{
      sample.request.name,
      {residency::Drop{sample.cold, cuda0}},
      sample.request.reserve,
      {residency::Move{sample.x, cuda0, {}}, residency::Ensure{sample.rot1, cuda0, {}},
       residency::Ensure{sample.half, cuda0, {}}},
      {}};
  CHECK(decision.plan == expected);
  CHECK(decision.explanation.feasible);
  CHECK(decision.explanation.at(cuda0)->peak_charged == 37 * kMiB);
  CHECK(decision.policy == sample.policy.identity());
  CHECK(decision.expected_version == sample.state.version());
  CHECK(decision.manager == sample.state.manager());
  CHECK(decision.bytes_moved == 21 * kMiB);
  CHECK(decision.explored_states > 0);
}

TEST_CASE("R59 a budget one granule too small for the sample is infeasible, and says by how much") {
  const Sample sample(37 * kMiB - kGranule);
  const Infeasible answer = sample.infeasible(sample.request);
  CHECK(answer.short_by == kGranule);
  CHECK(answer.at == cuda0);
  CHECK(answer.budget == 37 * kMiB - kGranule);
  CHECK(names(answer.conflict) == "x rot1 half workspace");
  CHECK(answer.irreducible);
  CHECK(answer.explored_states == 0);
  CHECK(answer.reason.find("256 B") != std::string::npos);
}

TEST_CASE("R56 deciding changes nothing, and gives the same answer again") {
  const Sample sample(37 * kMiB);
  const std::uint64_t version = sample.state.version();
  const Decision first = sample.decision(sample.request);
  const Decision second = sample.decision(sample.request);
  CHECK(sample.state.version() == version);
  CHECK(first.plan == second.plan);
  CHECK(first.explored_states == second.explored_states);
  CHECK(first.evictions.front().reason() == second.evictions.front().reason());
}

TEST_CASE("R56 endpoints that are there already are named in the plan and cost nothing") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId a = world.put("a", 6 * kMiB, {cuda0});
  const Decision decision = world.decision({"r", {{a, cuda0}}, {{cuda0, 4 * kMiB, "workspace"}}});
  CHECK(decision.evictions.empty());
  CHECK(decision.bytes_moved == 0);
  CHECK(decision.plan.enter.size() == 1);
  CHECK(decision.plan.exit.empty());
}

TEST_CASE("R57 reservations count: used 60, reserved 30, budget 100, enter 20 reclaims first") {
  World world({{cuda0, 100 * kMiB}});
  world.put("resident", 60 * kMiB, {pageable, cuda0});
  world.reserve(cuda0, 30 * kMiB, "others");
  const HandleId a = world.put("a", 20 * kMiB, {pageable});
  const Decision decision = world.decision({"r", {{a, cuda0}}, {}});
  CHECK(victims(decision) == "resident at cuda:0");
  CHECK(decision.explanation.at(cuda0)->peak_charged <= 100 * kMiB);
}

TEST_CASE("R57 a request's own reservations are admitted before anything enters") {
  World world({{cuda0, 10 * kMiB}});
  world.put("old", 4 * kMiB, {pageable, cuda0});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  CHECK(victims(world.decision({"r", {{a, cuda0}}, {{cuda0, 2 * kMiB, "w"}}})).empty());
  CHECK(victims(world.decision({"r", {{a, cuda0}}, {{cuda0, 2 * kMiB + 1, "w"}}})) == "old at cuda:0");
}

TEST_CASE("R52 a value required at two locations is charged once at each") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Decision decision = world.decision({"r", {{a, cuda0}, {a, pinned}}, {}});
  CHECK(decision.explanation.at(cuda0)->charged_after == 4 * kMiB);
  CHECK(decision.explanation.at(pinned)->charged_after == 4 * kMiB);
}

TEST_CASE("R57 loading charges the source location for that time, and room is made there too") {
  World world({{pinned, 6 * kMiB}, {cuda0, 6 * kMiB}});
  world.put("cold", 4 * kMiB, {pageable, pinned});
  const HandleId a = world.put_source("a", 6 * kMiB, pinned);
  const Decision decision = world.decision({"r", {{a, cuda0}}, {}});
  CHECK(victims(decision) == "cold at pinned-host");
  CHECK(decision.explanation.at(pinned)->peak_charged == 6 * kMiB);
  CHECK(decision.explanation.at(pinned)->charged_after == 0);
}

TEST_CASE(
    "R57 a value that is made on a device and kept on the host gets room there for that time, as explained") {
  World world({{cuda0, 6 * kMiB}});
  world.put("cold", 4 * kMiB, {pageable, cuda0});
  const HandleId key = world.put_source("key", 3 * kMiB, cuda0);
  const Decision decision = world.decision({"r", {{key, pageable}}, {}});
  CHECK(victims(decision) == "cold at cuda:0");
  CHECK(decision.explanation.at(cuda0)->peak_charged == 4 * kMiB);
  CHECK(decision.explanation.at(cuda0)->charged_after == 0);
  world.reserve(cuda0, kMiB, "others");
  CHECK(victims(world.decision({"r", {{key, pageable}}, {{cuda0, 2 * kMiB, "workspace"}}})) ==
        "cold at cuda:0");
  const Infeasible answer = world.infeasible({"r", {{key, pageable}}, {{cuda0, 3 * kMiB, "workspace"}}});
  CHECK(names(answer.conflict) == "key workspace others");
}

TEST_CASE("R58 where only a search finds the way, the plan names every endpoint, those that stay put too") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}}, {{cuda0, {pageable}}});
  const HandleId a = world.put_exclusive("a", 4 * kMiB, pinned);
  const HandleId b = world.put_exclusive("b", 4 * kMiB, cuda0);
  const HandleId c = world.put("c", kMiB, {pageable});
  const Decision decision = world.decision({"r", {{c, pageable}, {a, cuda0}, {b, pinned}}, {}});
  CHECK(victims(decision) == "b at cuda:0");
  CHECK(decision.plan.enter.size() == 3);
}

TEST_CASE("R57 an exclusive move releases its source for what comes after") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}});
  const HandleId x = world.put_exclusive("x", 4 * kMiB, pinned);
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Decision in_order = world.decision({"r", {{x, cuda0}, {a, pinned}}, {}});
  CHECK(in_order.evictions.empty());
  // The other way round the move has to come first all the same.
  const Decision reversed = world.decision({"r", {{a, pinned}, {x, cuda0}}, {}});
  CHECK(reversed.explanation.feasible);
  CHECK(reversed.evictions.empty());
}

TEST_CASE("R57 a value that must be preserved moves to a fallback tier, which gets room in turn") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}}, {{cuda0, {pinned}}, {pinned, {pageable}}});
  const HandleId kept = world.put("kept", 4 * kMiB, {cuda0});
  const HandleId older = world.put("older", 4 * kMiB, {pinned});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Decision decision = world.decision({"r", {{a, cuda0}}, {}});
  CHECK(victims(decision) == "older at pinned-host, kept at cuda:0");
  CHECK(decision.plan.reclaim[0] == residency::Action{residency::Move{older, pageable, pinned}});
  CHECK(decision.plan.reclaim[1] == residency::Action{residency::Move{kept, pinned, cuda0}});
  CHECK(decision.evictions[1].why == Eviction::Why::offloaded);
  CHECK(decision.evictions[1].reason() ==
        "kept: only copy at cuda:0 moved to pinned-host; 4 MiB released; priority 0, never accessed");
}

TEST_CASE("R57 without a configured tier the only copy of a value stays, and is named") {
  World world({{cuda0, 4 * kMiB}});
  world.put("kept", 4 * kMiB, {cuda0});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(names(answer.conflict) == "a kept");
  CHECK(names(answer.holders) == "kept");
  CHECK(answer.holders.front().kind == Conflict::Kind::only_copy);
}

TEST_CASE("R57 the last copy of a reconstructible value may go") {
  World world({{cuda0, 4 * kMiB}});
  world.put_source("key", 4 * kMiB, pageable, {cuda0});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Decision decision = world.decision({"r", {{a, cuda0}}, {}});
  CHECK(decision.evictions.front().why == Eviction::Why::reconstructible);
  CHECK(decision.evictions.front().reason() ==
        "key: last replica at cuda:0 dropped, its source at pageable-host can rebuild it; 4 MiB released; "
        "priority 0, never accessed");
}

TEST_CASE("R57 an endpoint is displaced and brought back where loading another needs its room for a moment") {
  World world({{pinned, 4 * kMiB}}, {{pinned, {pageable}}});
  const HandleId b = world.put("b", 4 * kMiB, {pinned});
  const HandleId a = world.put_source("a", 4 * kMiB, pinned);
  const Decision decision = world.decision({"r", {{a, cuda0}, {b, pinned}}, {}});
  CHECK(victims(decision) == "b at pinned-host");
  CHECK(decision.evictions.front().restored);
  const residency::Simulation after = residency::simulate(world.state, decision.plan);
  CHECK(after.state.record(b).at(pinned) != nullptr);
  CHECK(after.state.record(a).at(cuda0) != nullptr);
}

TEST_CASE("R57 another replica of a requested value may go, as the last choice") {
  World world({{cuda0, 4 * kMiB}, {cuda1, 4 * kMiB}});
  const HandleId a = world.put("a", 2 * kMiB, {pageable, cuda0});
  world.put("cold", 2 * kMiB, {pageable, cuda0});
  const HandleId b = world.put("b", 2 * kMiB, {pageable});
  const HandleId c = world.put("c", 2 * kMiB, {pageable});
  CHECK(victims(world.decision({"r", {{a, cuda1}, {b, cuda0}}, {}})) == "cold at cuda:0");
  CHECK(victims(world.decision({"r", {{a, cuda1}, {b, cuda0}, {c, cuda0}}, {}})) ==
        "cold at cuda:0, a at cuda:0");
}

TEST_CASE("R57 protected materializations are never victims") {
  World world({{cuda0, 8 * kMiB}});
  const HandleId first = world.put("first", 4 * kMiB, {pageable, cuda0});
  world.put("second", 4 * kMiB, {pageable, cuda0});
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  world.state.protect(first, cuda0, State::Token::pending);
  CHECK(victims(world.decision({"r", {{a, cuda0}}, {}})) == "second at cuda:0");
}

TEST_CASE("R58 victims leave in policy order") {
  World world({{cuda0, 8 * kMiB}});
  const HandleId newest = world.put("newest", 2 * kMiB, {pageable, cuda0});
  const HandleId precious = world.put("precious", 2 * kMiB, {pageable, cuda0});
  const HandleId oldest = world.put("oldest", 2 * kMiB, {pageable, cuda0});
  const HandleId keyed = world.put("keyed", 2 * kMiB, {pageable, cuda0});
  world.metadata.set(precious, 1, {});
  world.metadata.touch(std::vector{oldest});
  world.metadata.touch(std::vector{newest});
  const HandleId a = world.put("a", 6 * kMiB, {pageable});
  CHECK(victims(world.decision({"r", {{a, cuda0}}, {}})) ==
        "keyed at cuda:0, oldest at cuda:0, newest at cuda:0");
  world.metadata.set(keyed, 2, "k");
  CHECK(victims(world.decision({"r", {{a, cuda0}}, {}})) ==
        "oldest at cuda:0, newest at cuda:0, precious at cuda:0");
}

TEST_CASE("R59 where 10, 10, 10 and 100 could go and 100 are needed, the 100 alone goes") {
  World world({{cuda0, 130 * kMiB}});
  for (const char* name : {"a", "b", "c"}) world.put(name, 10 * kMiB, {pageable, cuda0});
  world.put("large", 100 * kMiB, {pageable, cuda0});
  const HandleId wanted = world.put("wanted", 100 * kMiB, {pageable});
  CHECK(victims(world.decision({"r", {{wanted, cuda0}}, {}})) == "large at cuda:0");
}

TEST_CASE("R59 an eviction that only an unneeded offload required goes with it") {
  World world({{pinned, 2 * kMiB}, {cuda0, 12 * kMiB}}, {{cuda0, {pinned}}});
  world.put("small", 2 * kMiB, {cuda0});
  world.put("spare", 2 * kMiB, {pageable, pinned});
  world.put("large", 10 * kMiB, {pageable, cuda0});
  const HandleId wanted = world.put("wanted", 10 * kMiB, {pageable});
  CHECK(victims(world.decision({"r", {{wanted, cuda0}}, {}})) == "large at cuda:0");
}
