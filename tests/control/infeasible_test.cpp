#include <doctest/doctest.h>

#include <fheres/residency/errors.hpp>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

TEST_CASE("R60 two inputs of one stage that do not fit together are infeasible, and both are named") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId a = world.put("a", 6 * kMiB, {pageable});
  const HandleId b = world.put("b", 6 * kMiB, {pageable});
  const HandleId c = world.put("c", kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}, {b, cuda0}, {c, cuda0}}, {}});
  CHECK(names(answer.conflict) == "a b");
  CHECK(answer.short_by == 3 * kMiB);
  CHECK(answer.irreducible);
  CHECK(answer.reason ==
        "request `r` cannot be served: 13631488 B (13 MiB) must be charged at cuda:0 at once, of a budget of "
        "10485760 B (10 MiB): 3145728 B (3 MiB) short; in conflict: a (6 MiB) required at cuda:0, "
        "b (6 MiB) required at cuda:0");
  CHECK_THROWS_AS(world.decision({"r", {{a, cuda0}, {b, cuda0}}, {}}), residency::PlanError);
}

TEST_CASE("R60 where everything is held, one more request is answered at once, with the holders") {
  World world({{cuda0, 100 * kMiB}});
  for (std::size_t i = 0; i < 10; ++i)
    world.hold(world.put(numbered("held", i), 10 * kMiB, {pageable, cuda0}), cuda0);
  const HandleId a = world.put("a", 10 * kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(answer.holders.size() == 10);
  CHECK(answer.conflict.size() == 11);
  CHECK(answer.holders.front().counts.hold == 1);
  CHECK(answer.explored_states == 0);
}

TEST_CASE("R60 an oversized reservation is infeasible by a sum, and stands alone in the conflict") {
  World world({{cuda0, 64 * kMiB}});
  for (std::size_t i = 0; i < 16; ++i) world.put(numbered("v", i), 4 * kMiB, {pageable, cuda0});
  const HandleId a = world.put("a", kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {{cuda0, 65 * kMiB, "too much"}}});
  CHECK(names(answer.conflict) == "too much");
  CHECK(answer.short_by == 2 * kMiB);
  const Infeasible absurd = world.infeasible({"r", {{a, cuda0}}, {{cuda0, ~Bytes{0}, "absurd"}}});
  CHECK(names(absurd.conflict) == "absurd");
}

TEST_CASE("R60 reservations of others are named") {
  World world({{cuda0, 10 * kMiB}});
  world.reserve(cuda0, 6 * kMiB, "others");
  const HandleId a = world.put("a", 6 * kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(names(answer.conflict) == "a others");
  CHECK(answer.conflict[1].kind == Conflict::Kind::reserved);
}

TEST_CASE("R60 an exclusive endpoint that is protected elsewhere is infeasible at once") {
  World world({{cuda0, 10 * kMiB}});
  const HandleId x = world.put_exclusive("x", kMiB, pinned);
  world.hold(x, pinned);
  const Infeasible answer = world.infeasible({"r", {{x, cuda0}}, {}});
  CHECK(answer.reason ==
        "request `r` cannot be served: x (1 MiB) required at cuda:0, x (1 MiB) protected at pinned-host (0 "
        "in use, "
        "1 held, 0 pending), an exclusive value");
  CHECK_FALSE(answer.short_by.has_value());
}

TEST_CASE("R60 a value that has no bytes yet is infeasible at once, whatever else there is") {
  World world({{cuda0, 10 * kMiB}});
  for (std::size_t i = 0; i < 10; ++i) world.put(numbered("v", i), kMiB, {pageable, cuda0});
  const HandleId later = world.state.announce(World::spec("later", kMiB, residency::ReplicaMode::replicable,
                                                          residency::Recoverability::must_preserve));
  const Infeasible answer = world.infeasible({"r", {{later, cuda0}}, {}});
  CHECK(answer.reason ==
        "request `r` cannot be served: later (1 MiB) required at cuda:0, which has no bytes yet");
  CHECK(answer.explored_states == 0);
  CHECK(answer.irreducible);
}

TEST_CASE("R60 R64 the staging of a value on its way between devices is named where it takes the room") {
  World world({{pinned, 4 * kMiB}});
  const HandleId moving = world.put("moving", 3 * kMiB, {cuda0});
  world.apply(residency::Ensure{moving, cuda1, {}, true});
  const HandleId a = world.put("a", 2 * kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, pinned}}, {}});
  CHECK(names(answer.conflict) == "a moving");
  CHECK(answer.conflict[1].kind == Conflict::Kind::staged);
  CHECK(answer.conflict[1].text() == "moving (3 MiB) staged at pinned-host on its way");
  CHECK(names(answer.holders) == "moving");
  world.state.settle(moving, cuda1);
  CHECK(world.decision({"r", {{a, pinned}}, {}}).evictions.empty());
}

TEST_CASE("R60 a load that its source location has no room for is infeasible by a sum") {
  World world({{pinned, 3 * kMiB}});
  const HandleId a = world.put_source("a", 4 * kMiB, pinned);
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(answer.at == pinned);
  CHECK(answer.short_by == kMiB);
  CHECK(names(answer.conflict) == "a");
}

TEST_CASE("R60 values that can only move among full locations are infeasible by their common sum") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}}, {{cuda0, {pinned}}, {pinned, {cuda0}}});
  world.put("here", 4 * kMiB, {cuda0});
  world.put("there", 4 * kMiB, {pinned});
  const HandleId a = world.put("a", kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(answer.short_by == kMiB);
  CHECK(names(answer.conflict) == "a here there");
}

TEST_CASE("R60 the world whose tiers form a cycle is proven infeasible at once: 10 of 8 MiB at cuda:0") {
  World world({{pinned, 8 * kMiB}, {cuda0, 8 * kMiB}, {cuda1, 6 * kMiB}},
              {{pinned, {cuda1, pageable}}, {cuda0, {pinned, pageable}}, {cuda1, {pinned}}});
  const HandleId v0 = world.put("v0", 8 * kMiB, {pinned, cuda0});
  const HandleId v1 = world.put_source("v1", 4 * kMiB, pageable);
  const HandleId v2 = world.put("v2", 2 * kMiB, {cuda1});
  world.metadata.set(v2, 1, {});
  const Infeasible answer =
      world.infeasible({"r", {{v1, pinned}, {v0, cuda0}, {v2, cuda0}}, {{cuda1, 4 * kMiB, "workspace"}}});
  CHECK(answer.at == cuda0);
  CHECK(answer.budget == 8 * kMiB);
  CHECK(answer.short_by == 2 * kMiB);
  CHECK(names(answer.conflict) == "v0 v2");
  CHECK(answer.explored_states == 0);
}

TEST_CASE("R60 a puzzle without a sum is proven infeasible by exhaustion, irreducibly") {
  // Both have to change places, and there is nowhere to put one of them down.
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}});
  const HandleId a = world.put_exclusive("a", 4 * kMiB, pinned);
  const HandleId b = world.put_exclusive("b", 4 * kMiB, cuda0);
  world.put("bystander", kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}, {b, pinned}}, {}});
  CHECK(names(answer.conflict) == "a b");
  CHECK(answer.irreducible);
  CHECK(answer.explored_states > 0);
  // With a tier to put it down, the places are changed.
  World with_tier({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}}, {{cuda0, {pageable}}});
  const HandleId c = with_tier.put_exclusive("a", 4 * kMiB, pinned);
  const HandleId d = with_tier.put_exclusive("b", 4 * kMiB, cuda0);
  CHECK(victims(with_tier.decision({"r", {{c, cuda0}, {d, pinned}}, {}})) == "b at cuda:0");
}

TEST_CASE("R60 a search that reaches its limit is inconclusive, which is not infeasible") {
  World world({{pinned, 4 * kMiB}, {cuda0, 4 * kMiB}});
  const HandleId a = world.put_exclusive("a", 4 * kMiB, pinned);
  const HandleId b = world.put_exclusive("b", 4 * kMiB, cuda0);
  world.options.search_state_limit = 1;
  const Request request{"r", {{a, cuda0}, {b, pinned}}, {}};
  const Outcome outcome = world.decide(request);
  REQUIRE(std::holds_alternative<Inconclusive>(outcome));
  CHECK(std::get<Inconclusive>(outcome).limit == 1);
  try {
    world.decision(request);
    FAIL("expected a SearchLimitError");
  } catch (const residency::SearchLimitError& error) {
    CHECK(error.limit == 1);
    CHECK(error.request == "r");
    CHECK(error.code() == "residency/search-limit");
  }
}

TEST_CASE("R60 interchangeable values do not multiply the search") {
  // 4 MiB are free in all, but never more than 3 in one place, however twelve equal values shuttle between the two.
  World world({{pinned, 15 * kMiB}, {cuda0, 13 * kMiB}}, {{cuda0, {pinned}}, {pinned, {cuda0}}});
  for (std::size_t i = 0; i < 6; ++i) {
    world.put(numbered("p", i), 2 * kMiB, {pinned});
    world.put(numbered("c", i), 2 * kMiB, {cuda0});
  }
  const HandleId a = world.put("a", 4 * kMiB, {pageable});
  const Infeasible answer = world.infeasible({"r", {{a, cuda0}}, {}});
  CHECK(answer.explored_states > 2);
  CHECK(answer.explored_states < 50);  // thousands, if they were told apart
  CHECK(answer.irreducible);
}
