#include <doctest/doctest.h>

#include <fheres/compile/prefetch.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "compile/random_program.hpp"

using namespace fheres;
using workload::Location;
using workload::Tier;
using Verb = workload::NamedAction::Verb;

namespace {

constexpr Bytes kTile = 1000 * kGranule;

/// One byte a nanosecond each way.
workload::Machine plain_machine() {
  workload::Machine machine;
  machine.name = "plain";
  for (const auto& [from, to] :
       {std::pair(Tier::pinned_host, Tier::cuda), std::pair(Tier::cuda, Tier::pinned_host),
        std::pair(Tier::pageable_host, Tier::cuda), std::pair(Tier::cuda, Tier::pageable_host)})
    machine.copies.push_back({from, to, {{kTile, static_cast<double>(kTile)}}});
  return machine;
}

/// Tiles that pass through the device one a stage, each for as long as its copy takes.
struct Tiles {
  workload::Program program;
  compile::StageCosts costs;
  explicit Tiles(std::size_t count, Bytes budget) {
    program.metadata.name.text = "tiles";
    program.world.locations = {{Location::cuda(0), budget, {}}};
    for (std::size_t i = 0; i < count; ++i) {
      workload::Value value;
      value.name.text = "w" + std::to_string(i);
      value.spec = workload::make_bytes_spec(value.name.text, kTile, residency::ReplicaMode::replicable);
      value.at = {Location::pinned_host()};
      program.world.values.push_back(value);
      workload::ProgramStage stage;
      stage.name.text = "s" + std::to_string(i);
      stage.enter = {{Verb::ensure, i, Location::cuda(0), {}, {}}};
      stage.exit = {{Verb::drop, i, Location::cuda(0), {}, {}}};
      program.stages.push_back(stage);
      costs.push_back({Location::cuda(0), {{static_cast<double>(kTile), {i}}}});
    }
  }
};

}  // namespace

TEST_CASE("tiles come in under the operations of the tile before, where two of them fit") {
  const Tiles tiles(4, 2 * kTile);
  const auto machine = plain_machine();
  const auto before =
      compile::forecast(tiles.program, workload::rehearse(tiles.program), machine, tiles.costs);
  CHECK(before.makespan_ns == 8.0 * kTile);
  CHECK(before.bound_ns == 5.0 * kTile);
  const compile::Placed placed = compile::place_transfers(tiles.program, machine, tiles.costs);
  CHECK(placed.forecast.makespan_ns == 5.0 * kTile);  // the bound: the first copy, then four operations
  CHECK(placed.forecast.bound_ns == 5.0 * kTile);
  for (std::size_t s = 0; s + 1 < 4; ++s) {
    CAPTURE(s);
    REQUIRE(!placed.program.stages[s].prefetch.empty());
    CHECK(placed.program.stages[s].prefetch.back().value == s + 1);
  }
}

TEST_CASE(
    "a tile that a plan drops only when it has to goes early, where the next one comes in under an operation "
    "then") {
  Tiles tiles(4, 2 * kTile);
  for (std::size_t s = 0; s < 4; ++s) {
    tiles.program.stages[s].exit.clear();
    if (s >= 2) tiles.program.stages[s].reclaim = {{Verb::drop, s - 2, Location::cuda(0), {}, {}}};
  }
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == 5.0 * kTile);
  const workload::Rehearsal after = workload::rehearse(placed.program);
  CHECK(after.answer == workload::Answer::feasible);
  CHECK(after.moved_bytes == 4 * kTile);
  REQUIRE(placed.program.stages[1].reclaim.size() == 1);
  CHECK(placed.program.stages[1].reclaim[0].value == 0);
}

TEST_CASE("a tile that nobody needs any more goes early, though the plan has room to keep it") {
  Tiles tiles(3, 3 * kTile);
  for (auto& stage : tiles.program.stages) stage.exit.clear();
  // Only while the second one works is the room short.
  tiles.program.stages[1].reserve = {{{Location::cuda(0), kTile, "workspace"}, {}}};
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == 4.0 * kTile);  // the bound: the first copy, then three operations
  REQUIRE(placed.program.stages[1].reclaim.size() == 1);
  CHECK(placed.program.stages[1].reclaim[0].verb == Verb::drop);
  CHECK(placed.program.stages[1].reclaim[0].value == 0);
  CHECK(workload::rehearse(placed.program).moved_bytes == 3 * kTile);
}

TEST_CASE("what a stage makes and sends away is copied out under the operations of the next one") {
  Tiles tiles(4, 4 * kTile);
  for (std::size_t s = 0; s < 3; ++s) {
    workload::Value made;
    made.name.text = "y" + std::to_string(s);
    made.spec = workload::make_bytes_spec(made.name.text, kTile, residency::ReplicaMode::replicable);
    made.produced_by = s;
    workload::ProgramStage& stage = tiles.program.stages[s];
    stage.reserve = {{{Location::cuda(0), kTile, "outputs"}, {}}};
    stage.produce = {{tiles.program.world.values.size(), Location::cuda(0), 0, {}}};
    stage.exit.push_back(
        {Verb::move, tiles.program.world.values.size(), Location::pinned_host(), Location::cuda(0), {}});
    tiles.program.world.values.push_back(made);
  }
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == 5.0 * kTile);
  const workload::Rehearsal after = workload::rehearse(placed.program);
  REQUIRE(after.answer == workload::Answer::feasible);
  CHECK(after.moved_bytes == 7 * kTile);
}

TEST_CASE("R27: the host waits for blocks that slide, for actions and for a body's blocks alike") {
  Tiles tiles(3, 4 * kTile);
  workload::Program& program = tiles.program;
  program.world.values[2].spec =
      workload::make_bytes_spec("w2", 3 * kTile, residency::ReplicaMode::replicable);
  program.stages[0].enter.push_back(program.stages[1].enter[0]);
  program.stages[1].enter.clear();
  program.stages[1].exit.clear();
  for (auto& cost : tiles.costs) cost.operations.clear();
  auto machine = plain_machine();
  const workload::Rehearsal rehearsal = workload::rehearse(program);
  REQUIRE(rehearsal.answer == workload::Answer::feasible);
  REQUIRE(rehearsal.compacted_bytes == kTile);
  // Where nobody measured it, as long as a copy.
  CHECK(compile::forecast(program, rehearsal, machine, tiles.costs).compaction_ns == 1.0 * kTile);
  machine.compaction = 2e9;
  const compile::Forecast told = compile::forecast(program, rehearsal, machine, tiles.costs);
  CHECK(told.compaction_ns == 0.5 * kTile);
  CHECK(told.makespan_ns == 5.5 * kTile);

  program.stages[2].enter.clear();
  program.stages[2].exit.clear();
  program.stages[2].reserve = {{{Location::cuda(0), 3 * kTile, "workspace"}, {}}};
  program.stages[2].workspace = {{0, 3 * kTile}};
  const compile::Forecast carved =
      compile::forecast(program, workload::rehearse(program), machine, tiles.costs);
  CHECK(carved.compaction_ns == 0.5 * kTile);
  CHECK(carved.makespan_ns == 2.5 * kTile);
}

TEST_CASE("R23, R27: what has long arrived is named again before a stage that needs the room in one piece") {
  Tiles tiles(2, 6 * kTile);
  workload::Program& program = tiles.program;
  program.world.values[1].spec =
      workload::make_bytes_spec("w1", 2 * kTile, residency::ReplicaMode::replicable);
  tiles.costs[0].operations[0].ns *= 3;
  // Between the two tiles, stages that need all the room that the second one leaves, and no time to hide it under.
  workload::ProgramStage between;
  between.reserve = {{{Location::cuda(0), 4 * kTile, "workspace"}, {}}};
  between.workspace = {{0, 4 * kTile}};
  for (std::size_t s = 1; s < 4; ++s) {
    between.name.text = "between" + std::to_string(s);
    program.stages.insert(program.stages.begin() + 1, between);
    tiles.costs.insert(tiles.costs.begin() + 1, {Location::cuda(0), {{0.1 * kTile, {}}}});
  }
  auto machine = plain_machine();
  machine.compaction = 1e12;
  const compile::Placed placed = compile::place_transfers(program, machine, tiles.costs);
  CHECK(placed.forecast.makespan_ns <= 5.31 * kTile);  // one copy, and the operations
  REQUIRE(placed.program.stages[1].enter.size() == 1);
  CHECK(placed.program.stages[1].enter[0].value == 1);
  const workload::Rehearsal after = workload::rehearse(placed.program);
  REQUIRE(after.answer == workload::Answer::feasible);
  CHECK(after.stages[1].explanation.actions[0].settles);
  CHECK(after.compacted_bytes == 2 * kTile);
}

TEST_CASE("tiles wait for their copies where only one fits, and nothing is charged beyond the budget") {
  const Tiles tiles(4, kTile);
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == 8.0 * kTile);
  CHECK(workload::rehearse(placed.program).answer == workload::Answer::feasible);
}

TEST_CASE("a copy is as late as the bandwidth allows") {
  // Much room, and operations ten times as long as a copy: nothing has to come more than one stage ahead.
  Tiles tiles(5, 5 * kTile);
  for (auto& cost : tiles.costs) cost.operations[0].ns *= 10;
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == 51.0 * kTile);
  for (std::size_t s = 0; s < 5; ++s) {
    CAPTURE(s);
    for (const auto& action : placed.program.stages[s].prefetch) CHECK(action.value <= s + 1);
  }
}

TEST_CASE("of placements that take the same time the one that asks earlier is taken") {
  // Just in time, a copy would be asked for one stage ahead: operations take a fifth longer than it.
  Tiles tiles(5, 5 * kTile);
  for (auto& cost : tiles.costs) cost.operations[0].ns *= 1.2;
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  CHECK(placed.forecast.makespan_ns == doctest::Approx(7.0 * kTile));  // one copy, and the operations
  bool spares = false;
  for (std::size_t s = 0; s < 5; ++s)
    for (const auto& action : placed.program.stages[s].prefetch) spares |= action.value > s + 1;
  CHECK(spares);
}

TEST_CASE("what leaves a device is copied out under the operations before, and its move only removes it") {
  // The first tile starts at the device alone, and has to make room for the third.
  Tiles tiles(3, 2 * kTile);
  tiles.program.world.values[0].at = {Location::cuda(0)};
  tiles.program.stages[0].enter.clear();
  tiles.program.stages[0].exit.clear();
  tiles.program.stages[2].reclaim = {{Verb::move, 0, Location::pinned_host(), Location::cuda(0), {}}};
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  const workload::Rehearsal after = workload::rehearse(placed.program);
  REQUIRE(after.answer == workload::Answer::feasible);
  CHECK(after.moved_bytes == 3 * kTile);
  // Tile 1 comes and tile 0 goes under the first two operations; tile 2 has to wait for the second one's end.
  CHECK(placed.forecast.makespan_ns == 4.0 * kTile);
  std::size_t out = 0;
  for (const auto& stage : placed.program.stages)
    for (const auto& action : stage.prefetch) out += action.at == Location::pinned_host() ? 1 : 0;
  CHECK(out == 1);
}

TEST_CASE("a pageable source is not prefetched: its copy would block the host") {
  Tiles tiles(3, 3 * kTile);
  for (auto& value : tiles.program.world.values) value.at = {Location::pageable_host()};
  const compile::Placed placed = compile::place_transfers(tiles.program, plain_machine(), tiles.costs);
  for (const auto& stage : placed.program.stages) CHECK(stage.prefetch.empty());
}

TEST_CASE(
    "R21, R23: placing transfers moves the same bytes within the budget, and is never slower nor below the "
    "bound") {
  const auto machine = plain_machine();
  std::size_t faster = 0, prefetched = 0, out = 0;
  constexpr std::uint64_t kWorlds = 400;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    CAPTURE(seed);
    const test::RandomProgram world = test::random_program(seed);
    const workload::Rehearsal plain = workload::rehearse(world.program);
    if (plain.answer != workload::Answer::feasible) continue;  // protected blocks in the way
    const auto before = compile::forecast(world.program, plain, machine, world.costs);
    const compile::Placed placed = compile::place_transfers(world.program, machine, world.costs);
    const workload::Rehearsal after = workload::rehearse(placed.program);
    REQUIRE(after.answer == workload::Answer::feasible);
    CHECK(after.moved_bytes == plain.moved_bytes);
    for (const workload::Peak& peak : after.peaks)
      if (peak.budget) CHECK(peak.charged <= *peak.budget);
    CHECK(before.bound_ns <= before.makespan_ns * (1 + 1e-12));
    CHECK(placed.forecast.makespan_ns <= before.makespan_ns);
    CHECK(placed.forecast.makespan_ns * (1 + 1e-12) >= placed.forecast.bound_ns);
    CHECK(placed.forecast.bound_ns == doctest::Approx(before.bound_ns));
    const auto again = compile::forecast(placed.program, after, machine, world.costs);
    CHECK(again.makespan_ns == placed.forecast.makespan_ns);
    if (placed.forecast.makespan_ns < before.makespan_ns) ++faster;
    for (const auto& stage : placed.program.stages) {
      prefetched += stage.prefetch.size();
      for (const auto& action : stage.prefetch) out += action.at.is_host() ? 1 : 0;
    }
  }
  // The worlds are such that the test says something.
  CHECK(faster > kWorlds / 3);
  CHECK(prefetched > kWorlds);
  CHECK(out > kWorlds / 20);
}
