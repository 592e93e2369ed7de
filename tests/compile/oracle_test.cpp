#include "compile/oracle.hpp"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fheres/compile/compile.hpp>
#include <fheres/verify/checks.hpp>

#include "support/random.hpp"

using namespace fheres;
using memory::Location;
using test::Random;
using workload::Stage;
using workload::Value;
using workload::Workload;

namespace {

Workload draw(Random& random) {
  Workload workload;
  workload.metadata.name.text = "small";
  workload::World& world = workload.world;
  const Location host = Location::pinned_host(), device = Location::cuda(0);
  const Location third = random.chance(2) ? Location::pageable_host() : Location::cuda(1);
  const bool has_third = random.chance(3);
  const auto granules = [&](std::uint64_t least, std::uint64_t more) {
    return (least + random.below(more)) * kGranule;
  };
  if (random.chance(4)) world.locations.push_back({host, granules(8, 8), {}});
  world.locations.push_back({device, granules(5, 8), {}});
  if (has_third && third.is_cuda()) world.locations.push_back({third, granules(4, 6), {}});
  if (!random.chance(5)) {
    world.policy.fallback[device] = {host};
    if (has_third && third.is_cuda()) world.policy.fallback[third] = {host};
    if (has_third && third.is_host()) world.policy.fallback[device].push_back(third);
    if (has_third && third.is_host()) world.policy.fallback[host] = {third};
  }
  const std::size_t values = 2 + random.below(random.chance(6) ? 7 : 4);
  for (std::size_t v = 0; v < values; ++v) {
    Value value;
    value.name.text = fmt::format("v{}", v);
    const bool exclusive = random.chance(5);
    value.spec = workload::make_bytes_spec(
        value.name.text, granules(1, 4) - random.below(2) * random.below(kGranule),
        exclusive ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable);
    value.at = {random.chance(4) ? device : has_third && third.is_host() && random.chance(2) ? third : host};
    if (!exclusive && random.chance(6)) {
      value.source = host;
      value.spec.recoverability = residency::Recoverability::reconstructible;
      if (random.chance(2)) value.at.clear();
    }
    world.values.push_back(std::move(value));
  }
  std::vector<workload::ValueIndex> live(values);
  for (std::size_t v = 0; v < values; ++v) live[v] = v;
  const std::size_t stages = 1 + random.below(6);
  for (std::size_t s = 0; s < stages && !live.empty(); ++s) {
    Stage stage;
    stage.name.text = fmt::format("s{}", s);
    stage.at = has_third && third.is_cuda() && random.chance(3) ? third : device;
    std::vector<workload::ValueIndex> pool = live;
    for (std::size_t left = 1 + random.below(3); left > 0 && !pool.empty(); --left) {
      const std::size_t pick = random.below(pool.size());
      stage.require.push_back({pool[pick], *stage.at, {}});
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    stage.reserve.push_back({{*stage.at, granules(0, 2), "outputs"}, {}});
    if (random.chance(4) && world.values.size() < 12 && s + 1 < stages) {
      Value value;
      value.name.text = fmt::format("y{}", s);
      value.spec =
          workload::make_bytes_spec(value.name.text, granules(1, 2), residency::ReplicaMode::replicable);
      value.produced_by = s;
      stage.reserve[0].spec.bytes += value.spec.storage_bytes;
      stage.outputs.push_back({0, world.values.size(), {}});
      stage.layout.output_from.push_back(0);
      live.push_back(world.values.size());
      world.values.push_back(std::move(value));
    }
    if (random.chance(5)) {
      const std::size_t pick = random.below(live.size());
      stage.release.push_back({workload::Operand::From::value, live[pick], {}});
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    workload.stages.push_back(std::move(stage));
  }
  return workload;
}

std::string describe(const Workload& workload) {
  std::string out;
  for (const auto& entry : workload.world.locations)
    out += fmt::format("{} {}; ", entry.at.name(), *entry.budget);
  for (const auto& [from, tiers] : workload.world.policy.fallback)
    for (const Location to : tiers) out += fmt::format("{} -> {}; ", from.name(), to.name());
  for (const Value& value : workload.world.values) {
    out += fmt::format("\n  {} {}", value.name.text, value.spec.logical_bytes);
    for (const Location at : value.at) out += " " + at.name();
    if (value.spec.replica_mode == residency::ReplicaMode::exclusive) out += " exclusive";
    if (value.source) out += " source " + value.source->name();
  }
  for (const Stage& stage : workload.stages) {
    out += fmt::format("\n  {} at {} reserve {}:", stage.name.text, stage.at->name(),
                       stage.reserve[0].spec.bytes);
    for (const auto& item : stage.require) out += " " + workload.world.values[item.value].name.text;
    for (const auto& item : stage.outputs) out += " makes " + workload.world.values[item.value].name.text;
    for (const auto& item : stage.release) out += " releases " + workload.world.values[item.index].name.text;
  }
  return out;
}

struct Tally {
  std::size_t plans = 0, infeasible = 0, best = 0, proven = 0, unknown = 0;
};

/// What is wrong with the compiler's answer to a world: empty where nothing is.
std::string fault(const Workload& workload, Tally& tally) {
  const auto least = test::least_bytes(workload);
  const compile::Outcome outcome = compile::compile(workload);
  if (const auto* no = std::get_if<compile::Infeasible>(&outcome)) {
    ++tally.infeasible;
    return least ? fmt::format("infeasible, {}; and {} B do it", no->reason, *least) : "";
  }
  const auto* made = std::get_if<compile::Compiled>(&outcome);
  if (made == nullptr) {
    tally.unknown += least ? 1 : 0;
    return "";
  }
  ++tally.plans;
  const workload::Evidence& evidence = *made->program.evidence;
  if (!least) return fmt::format("a plan of {} B, and there is none", evidence.moved_bytes);
  if (evidence.lower_bound_bytes > *least || evidence.moved_bytes < *least)
    return fmt::format("bound {}, least {}, moved {}", evidence.lower_bound_bytes, *least,
                       evidence.moved_bytes);
  tally.best += evidence.moved_bytes == *least ? 1 : 0;
  tally.proven += evidence.optimal() ? 1 : 0;
  // Bytes and peaks, counted by nobody's rules but verify's.
  const verify::Verification verified = verify::check(made->program, &workload);
  return verified.sound() ? "" : "verify: " + verify::sentence(verified.violations.front());
}

void try_worlds(std::uint64_t rounds, std::uint64_t seed) {
  Tally tally;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Random random(seed + round);
    const Workload workload = draw(random);
    const std::string why = fault(workload, tally);
    if (why.empty()) continue;
    FAIL("seed " << seed << ", round " << round << ": " << why << "\n" << describe(workload));
  }
  MESSAGE(rounds << " worlds from seed " << seed << ": " << tally.plans << " plans, " << tally.best
                 << " of the least bytes, " << tally.proven << " proven, " << tally.infeasible
                 << " infeasible, " << tally.unknown << " that no plan was found for");
  CHECK(tally.plans * 3 > rounds);
  CHECK(tally.infeasible * 20 > rounds);
}

}  // namespace

TEST_CASE("of small random worlds every plan is sound, no bound is above the least bytes, and no is no") {
  const char* worlds = std::getenv("FHERES_ORACLE_WORLDS");
  try_worlds(worlds != nullptr ? std::strtoull(worlds, nullptr, 0) : 4'000, test::test_seed(20260801));
}
