#include "interchange.hpp"

#include <algorithm>
#include <tuple>

namespace fheres::control {

using residency::Materialization;
using residency::State;
using residency::ValueRecord;

std::size_t SituationHash::operator()(const Situation& situation) const noexcept {
  std::uint64_t hash = situation.reserved ? 0x9E3779B97F4A7C15ull : 0;
  for (const std::uint64_t kind : situation.kinds) {
    hash ^= kind + 0x9E3779B97F4A7C15ull + (hash << 6) + (hash >> 2);
    hash *= 0xBF58476D1CE4E5B9ull;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

Classes::Classes(const Problem& problem, const State& start) {
  using Signature = std::tuple<Bytes, Bytes, residency::ReplicaMode, bool, std::size_t,
                               std::optional<HandleId>, std::vector<std::size_t>, std::vector<std::size_t>,
                               std::vector<std::size_t>, std::vector<Bytes>>;
  std::map<Signature, std::uint32_t> known;
  const auto& records = start.records();
  std::vector<std::vector<std::size_t>> endpoints(records.size());
  for (const Requirement& wanted : problem.request.require)
    endpoints[wanted.value.serial].push_back(wanted.at.index());
  for (std::uint64_t serial = 0; serial < records.size(); ++serial) {
    const ValueRecord& record = records[serial];
    std::vector<std::size_t> places, guarded;
    std::vector<Bytes> actual;
    const HandleId value = problem.state.handle(serial);
    bool movable = problem.involved(value);
    for (const Materialization& there : record.materializations) {
      places.push_back(there.at.index());
      actual.push_back(there.actual_bytes);
      if (there.protection.any()) guarded.push_back(there.at.index());
      movable = movable || (!there.protection.any() && budget_of(problem.state, there.at));
    }
    if (movable) movable_.push_back(problem.state.handle(serial));
    std::sort(endpoints[serial].begin(), endpoints[serial].end());
    start_.push_back(number_of(places));
    // What an expansion reads is like nothing else, and values are alike that are expanded from the same.
    std::optional<HandleId> expanded_from;
    if (problem.requested(value)) expanded_from = live_backing(start, value);
    if (problem.backs_requested(value)) expanded_from = value;
    const Signature signature{record.spec->storage_bytes,
                              record.spec->logical_bytes,
                              record.spec->replica_mode,
                              start.preserved(value),
                              record.source ? record.source->index() : Location::kCount,
                              expanded_from,
                              places,
                              guarded,
                              endpoints[serial],
                              actual};
    class_of_.push_back(known.try_emplace(signature, static_cast<std::uint32_t>(known.size())).first->second);
  }
}

std::uint32_t Classes::number_of(const Places& places) {
  return numbers_.try_emplace(places, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint64_t Classes::kind(const State& now, HandleId value) {
  Places places;
  for (const Materialization& there : now.record(value).materializations) places.push_back(there.at.index());
  return std::uint64_t{class_of_[value.serial]} << 32 | number_of(places);
}

Situation Classes::situation(const State& now, bool reserved) {
  Situation found{{}, reserved};
  for (const HandleId value : movable_) {
    const std::uint64_t is = kind(now, value);
    if ((is & 0xFFFFFFFFu) != start_[value.serial]) found.kinds.push_back(is);
  }
  std::sort(found.kinds.begin(), found.kinds.end());
  return found;
}

}  // namespace fheres::control
