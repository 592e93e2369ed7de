// What is expanded from what, as the search sees it (R66).
#include <doctest/doctest.h>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

TEST_CASE(
    "R66 a value that is expanded needs room for itself and for a copy of its backing, which makes "
    "evictions") {
  World world({{cuda0, 1280}});
  const HandleId seed = world.put("seed", 256, {pinned});
  const HandleId key = world.put_backed("key", 1024, seed);
  world.put_source("cold", 256, pinned, {cuda0});
  const Decision decision = world.decision({"r", {{key, cuda0}}, {}});
  CHECK(victims(decision) == "cold at cuda:0");
  CHECK(decision.bytes_moved == 256);
  CHECK(decision.explanation.actions.back().expanded_from == seed);
  CHECK(decision.explanation.at(cuda0)->peak_charged == 1280);
}

TEST_CASE("R66 the last copy of a value that has a backing may go, and its backing's may not") {
  World world({{cuda0, 1280}});
  const HandleId seed = world.put_source("seed", 256, pinned, {cuda0});
  const HandleId key = world.put_backed("key", 1024, seed);
  world.apply(residency::Ensure{key, cuda0, {}});
  const HandleId x = world.put("x", 1024, {pinned});
  const Decision decision = world.decision({"r", {{x, cuda0}}, {}});
  CHECK(victims(decision) == "key at cuda:0");
  CHECK(decision.evictions.front().reason().find(
            "last replica at cuda:0 dropped, its backing seed can rebuild it") != std::string::npos);
  const HandleId y = world.put("y", 1280, {pinned});
  const Infeasible answer = world.infeasible({"s", {{y, cuda0}}, {}});
  CHECK(names(answer.conflict) == "y seed");
  CHECK(answer.short_by == Bytes{256});
}

TEST_CASE("R66 a sum proves that a value and a copy of its backing do not fit beside what is protected") {
  World world({{cuda0, 1280}});
  const HandleId seed = world.put("seed", 256, {pinned});
  const HandleId key = world.put_backed("key", 1024, seed);
  const HandleId held = world.put("held", 256, {cuda0});
  world.hold(held, cuda0);
  const Infeasible answer = world.infeasible({"r", {{key, cuda0}}, {}});
  CHECK(answer.explored_states == 0);
  CHECK(answer.short_by == Bytes{256});
  CHECK(answer.reason.find("1.5 KiB) must be charged at cuda:0 at once while key is expanded") !=
        std::string::npos);
  // Where the backing is there already it is counted once.
  World other({{cuda0, 1280}});
  const HandleId at_hand = other.put("seed", 256, {cuda0});
  const HandleId there = other.put_backed("key", 1024, at_hand);
  other.hold(at_hand, cuda0);
  CHECK(other.decision({"r", {{there, cuda0}}, {}}).bytes_moved == 0);
}

TEST_CASE("R66 for the fewest bytes a full replica goes so that its value is expanded") {
  World world({{cuda0, 4096}});
  const HandleId seed = world.put("seed", 256, {pinned});
  const HandleId key = world.put_backed("key", 1024, seed);
  world.apply(residency::Ensure{key, pageable, {}});
  const Request request{"r", {{key, cuda0}}, {}};
  CHECK(world.decision(request).bytes_moved == 1024);
  world.options.objective = Objective::bytes;
  const Decision decision = world.decision(request);
  CHECK(decision.bytes_moved == 256);
  CHECK(decision.least_bytes);
  CHECK(victims(decision) == "key at pageable-host");
}
