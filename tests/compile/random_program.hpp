#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fheres/compile/cost.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::test {

struct RandomProgram {
  workload::Program program;
  compile::StageCosts costs;
  Bytes budget = 0;
};

/// Values of random sizes that random stages want at one device, with reservations, placed the plain way: what has to go is
/// dropped first, what is wanted comes in by `enter`. Exclusive values move instead, and those that start at the device
/// alone leave for the host when they first have to go.
inline RandomProgram random_program(std::uint64_t seed) {
  using workload::Location;
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  const Location device = Location::cuda(0), host = Location::pinned_host();
  RandomProgram made;
  workload::Program& program = made.program;
  program.metadata.name.text = "random";
  const std::size_t values = draw(2, 10), stages = draw(1, 12);
  Bytes largest = 0;
  for (std::size_t i = 0; i < values; ++i) {
    workload::Value value;
    value.name.text = "v" + std::to_string(i);
    const bool exclusive = draw(0, 9) == 0;
    value.spec = workload::make_bytes_spec(
        value.name.text, draw(1, 64) * kGranule,
        exclusive ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable);
    value.at = {draw(0, 7) == 0 ? Location::pageable_host() : host};
    largest = std::max(largest, value.spec.storage_bytes);
    program.world.values.push_back(std::move(value));
  }
  // Which values each stage wants, and a budget that holds the largest of these sets with some luck left over.
  std::vector<std::vector<workload::ValueIndex>> wanted(stages);
  std::vector<Bytes> reserved(stages);
  Bytes least = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    Bytes sum = 0;
    for (workload::ValueIndex v = 0; v < values; ++v) {
      if (draw(0, 3) != 0) continue;
      wanted[s].push_back(v);
      sum += program.world.values[v].spec.storage_bytes;
    }
    reserved[s] = draw(0, 8) * kGranule;
    least = std::max(least, sum + reserved[s]);
  }
  made.budget = least + draw(0, 3) * largest;
  std::vector<bool> there(values), at_host(values, true);
  Bytes used = 0, all = 0;
  for (workload::ValueIndex v = 0; v < values; ++v) {
    workload::Value& value = program.world.values[v];
    all += value.spec.storage_bytes;
    if (draw(0, 3) != 0 || used + value.spec.storage_bytes > made.budget) continue;
    value.at = {device};
    there[v] = true;
    at_host[v] = false;
    used += value.spec.storage_bytes;
  }
  program.world.locations = {{host, all, {}}, {device, made.budget, {}}};
  for (std::size_t s = 0; s < stages; ++s) {
    workload::ProgramStage& stage = program.stages.emplace_back();
    stage.name.text = "s" + std::to_string(s);
    if (reserved[s] != 0) stage.reserve.push_back({{device, reserved[s], "workspace"}, {}});
    Bytes needed = reserved[s];
    for (const auto v : wanted[s])
      if (!there[v]) needed += program.world.values[v].spec.storage_bytes;
    for (workload::ValueIndex v = 0; v < values && used + needed > made.budget; ++v) {
      if (!there[v] || std::find(wanted[s].begin(), wanted[s].end(), v) != wanted[s].end()) continue;
      const workload::Value& value = program.world.values[v];
      const bool exclusive = value.spec.replica_mode == residency::ReplicaMode::exclusive;
      using Verb = workload::NamedAction::Verb;
      stage.reclaim.push_back(exclusive || !at_host[v]
                                  ? workload::NamedAction{Verb::move, v, host, device, {}}
                                  : workload::NamedAction{Verb::drop, v, device, {}, {}});
      there[v] = false;
      at_host[v] = true;
      used -= value.spec.storage_bytes;
    }
    compile::StageCost& cost = made.costs.emplace_back();
    cost.at = device;
    for (const auto v : wanted[s]) {
      const workload::Value& value = program.world.values[v];
      const bool exclusive = value.spec.replica_mode == residency::ReplicaMode::exclusive;
      if (!there[v]) {
        stage.enter.push_back(
            {exclusive ? workload::NamedAction::Verb::move : workload::NamedAction::Verb::ensure,
             v,
             device,
             {},
             {}});
        used += value.spec.storage_bytes;
      }
      there[v] = true;
      cost.operations.push_back({static_cast<double>(draw(1, 20000)), {v}});
    }
    std::shuffle(cost.operations.begin(), cost.operations.end(), random);
  }
  return made;
}

}  // namespace fheres::test
