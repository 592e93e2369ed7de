#include "problem.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace fheres::compile {
namespace {

using workload::Value;

/// One use of a value, in the order of stages.
struct Use {
  std::size_t stage = 0;
  Location at = Location::pageable_host();
  bool makes = false;
};

class Builder {
 public:
  explicit Builder(const Workload& workload)
      : workload_(workload),
        uses_(workload.world.values.size()),
        released_(uses_.size()),
        shares_(uses_.size()) {
    problem_.stages = workload.stages.size();
  }

  Problem run() {
    make_rooms();
    make_tiers();
    collect_uses();
    for (ValueIndex v = 0; v < uses_.size(); ++v) add_value(v);
    problem_.unit = std::max<Bytes>(unit_, 1);
    return std::move(problem_);
  }

 private:
  const Value& value(ValueIndex v) const { return workload_.world.values[v]; }

  void make_rooms() {
    for (const auto& [at, budget] : workload_.world.budgets())
      problem_.rooms.push_back(
          {at, budget, std::vector<std::int64_t>(problem_.stages, static_cast<std::int64_t>(budget))});
    for (std::size_t s = 0; s < problem_.stages; ++s)
      for (const workload::Reservation& item : workload_.stages[s].reserve)
        take(item.spec.at, s, round_up_to_granule(item.spec.bytes));
  }

  void make_tiers() {
    problem_.tiers = workload_.world.policy.fallback;
    const auto add = [&](Location from, Location to) {
      std::vector<Location>& tiers = problem_.tiers[from];
      if (from != to && std::find(tiers.begin(), tiers.end(), to) == tiers.end()) tiers.push_back(to);
    };
    for (const workload::Stage& stage : workload_.stages) {
      if (!stage.plan) continue;
      for (const auto* list : {&stage.plan->reclaim, &stage.plan->enter, &stage.plan->exit}) {
        for (const workload::NamedAction& action : *list) {
          if (action.verb != workload::NamedAction::Verb::move) continue;
          if (action.from) add(*action.from, action.at);
          if (!action.from && stage.at) add(*stage.at, action.at);
        }
      }
    }
  }

  void take(Location at, std::size_t stage, Bytes bytes) {
    if (const auto room = problem_.room_at(at))
      problem_.rooms[*room].free[stage] -= static_cast<std::int64_t>(bytes);
  }

  void collect_uses() {
    for (std::size_t s = 0; s < problem_.stages; ++s) {
      const workload::Stage& stage = workload_.stages[s];
      for (const workload::Requirement& item : stage.require) {
        uses_[item.value].push_back({s, item.at, false});
        take(item.at, s, value(item.value).spec.storage_bytes);
      }
      for (const workload::Output& output : stage.outputs)
        uses_[output.value].push_back({s, *stage.at, true});
      for (const workload::Operand& item : stage.release) released_[item.index] = s;
    }
    for (ValueIndex v = 0; v < uses_.size(); ++v)
      if (value(v).backing) ++shares_[*value(v).backing];
  }

  bool starts_at(ValueIndex v, Location at) const {
    const std::vector<Location>& places = value(v).at;
    return std::find(places.begin(), places.end(), at) != places.end();
  }
  bool tiers_from(Location at) const {
    const auto found = problem_.tiers.find(at);
    return found != problem_.tiers.end() && !found->second.empty();
  }
  /// Whether its last copy may go: it can be loaded or expanded again (R11, R66).
  bool can_go(ValueIndex v) const {
    return shares_[v] == 0 && (value(v).source.has_value() || value(v).backing.has_value());
  }

  void add_value(ValueIndex v) {
    if (value(v).spec.logical_bytes != 0) unit_ = std::gcd(unit_, value(v).spec.logical_bytes);
    std::vector<Location> places = value(v).at;
    for (const Use& use : uses_[v]) places.push_back(use.at);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<Location> used;
    for (const Use& use : uses_[v])
      if (std::find(used.begin(), used.end(), use.at) == used.end()) used.push_back(use.at);
    if (value(v).spec.replica_mode == residency::ReplicaMode::exclusive && !can_go(v)) {
      add_exclusive(v, places);
      return;
    }
    for (const Location at : places) add_lane(v, at, used);
  }

  std::size_t end_of(ValueIndex v) const { return released_[v] ? *released_[v] + 1 : problem_.stages; }

  Lane& start_lane(ValueIndex v, Location at) {
    Lane& lane = problem_.lanes.emplace_back();
    lane.value = v;
    lane.at = at;
    lane.starts_here = starts_at(v, at);
    for (const Use& use : uses_[v]) {
      if (use.at != at) continue;
      if (use.makes) lane.made_here = true;
      if (lane.uses.empty() || lane.uses.back() != use.stage) lane.uses.push_back(use.stage);
    }
    return lane;
  }

  void must_move(Lane& lane, Bytes bytes) {
    lane.compulsory = checked_add(lane.compulsory, bytes);
    problem_.compulsory = checked_add(problem_.compulsory, bytes);
  }

  /// Of the lane that was started last: stages [first, end) where its value is not needed.
  void add_interval(std::size_t first, std::size_t end, Interval interval) {
    Lane& lane = problem_.lanes.back();
    const auto room = problem_.room_at(lane.at);
    if (first >= end || !room) return;
    interval.lane = problem_.lanes.size() - 1;
    interval.room = *room;
    interval.first = first;
    interval.last = end - 1;
    interval.charge = interval.least_charge = value(lane.value).spec.storage_bytes;
    if (const auto backing = value(lane.value).backing)
      interval.least_charge = std::min(interval.charge, value(*backing).spec.storage_bytes);
    lane.intervals.push_back(problem_.intervals.size());
    problem_.intervals.push_back(interval);
  }

  /// Whether every stage that needs `v` at a location needs the other there too.
  bool is_there_with(ValueIndex other, ValueIndex v, Location at) const {
    return std::all_of(uses_[v].begin(), uses_[v].end(), [&](const Use& use) {
      const auto same = std::lower_bound(uses_[other].begin(), uses_[other].end(), use.stage,
                                         [](const Use& a, std::size_t stage) { return a.stage < stage; });
      return use.at != at || std::any_of(same, uses_[other].end(), [&](const Use& there) {
               return there.stage == use.stage && there.at == at;
             });
    });
  }

  /// What it costs to have the value back, once it has left `at`.
  Bytes fetch_cost(ValueIndex v, Location at) const {
    if (!value(v).backing) return value(v).spec.logical_bytes;
    const ValueIndex backing = *value(v).backing;
    // Where it shares its backing, or that is there from the start or whenever it is needed, an expansion may move nothing.
    if (shares_[backing] > 1 || starts_at(backing, at) || is_there_with(backing, v, at)) return 0;
    return std::min(value(v).spec.logical_bytes, value(backing).spec.logical_bytes);
  }

  void add_lane(ValueIndex v, Location at, const std::vector<Location>& used) {
    const Bytes fetch = fetch_cost(v, at);
    const bool clean = can_go(v) || (!value(v).produced_by && value(v).at.size() > 1) ||
                       (!value(v).produced_by && !starts_at(v, at));
    Lane& lane = start_lane(v, at);
    const bool elsewhere = std::any_of(used.begin(), used.end(), [&](Location l) { return l != at; });
    if (!clean && !elsewhere) lane.offload = value(v).spec.logical_bytes;
    // A copy elsewhere may be what another stage's use brings: then nothing is certain.
    const bool forced = !clean && !elsewhere && !tiers_from(at);
    if (!lane.starts_here && !lane.made_here && !lane.uses.empty()) must_move(lane, fetch);
    const std::vector<std::size_t> uses = lane.uses;
    Interval between{.cost = fetch, .price = fetch, .forced = forced};
    if (lane.starts_here && !uses.empty()) {
      Interval head = between;
      head.head = true;
      add_interval(0, uses.front(), head);
    }
    if (!lane.starts_here && uses.empty()) return;
    for (std::size_t i = 0; i + 1 < uses.size(); ++i) add_interval(uses[i] + 1, uses[i + 1], between);
    // An only copy that another location needs later has to go there, or wait in a third.
    const bool awaited = !clean && !uses_[v].empty() && !uses.empty() && uses_[v].back().stage > uses.back();
    Interval tail{
        .cost = 0, .price = awaited ? fetch : 0, .head = uses.empty(), .tail = true, .forced = forced};
    add_interval(uses.empty() ? 0 : uses.back() + 1, end_of(v), tail);
  }

  /// It is in one place at a time: each way out is a way that it has to come back, or to go on.
  void add_exclusive(ValueIndex v, const std::vector<Location>& places) {
    const Bytes bytes = value(v).spec.logical_bytes;
    std::vector<Use> visits;
    if (!value(v).at.empty()) visits.push_back({0, value(v).at.front(), true});  // the start
    const bool starts = !visits.empty();
    visits.insert(visits.end(), uses_[v].begin(), uses_[v].end());
    Bytes ways = 0;
    for (std::size_t i = 1; i < visits.size(); ++i)
      if (visits[i].at != visits[i - 1].at) ways = checked_add(ways, bytes);
    for (const Location at : places) {
      must_move(start_lane(v, at), std::exchange(ways, 0));
      for (std::size_t i = 0; i < visits.size(); ++i) {
        if (visits[i].at != at) continue;
        const bool head = starts && i == 0;
        const std::size_t first = head ? 0 : visits[i].stage + 1;
        const bool tail = i + 1 == visits.size();
        const std::size_t end = tail ? end_of(v) : visits[i + 1].stage;
        const bool back = !tail && visits[i + 1].at == at;
        // On its way to another place, waiting in a third costs one more move; that may also be avoided by waiting at
        // the next place, so the bound must not ask for it.
        const Bytes price = back ? checked_add(bytes, bytes) : bytes;
        add_interval(first, end,
                     {.cost = back || tail ? price : 0,
                      .price = price,
                      .head = head,
                      .tail = tail,
                      .forced = !tiers_from(at) && (back || tail)});
      }
    }
  }

  const Workload& workload_;
  Problem problem_;
  std::vector<std::vector<Use>> uses_;
  std::vector<std::optional<std::size_t>> released_;
  std::vector<std::size_t> shares_;  // how many values each one backs
  Bytes unit_ = 0;
};

}  // namespace

std::optional<std::size_t> Problem::room_at(Location at) const {
  for (std::size_t i = 0; i < rooms.size(); ++i)
    if (rooms[i].at == at) return i;
  return std::nullopt;
}

Problem make_problem(const Workload& workload) { return Builder(workload).run(); }

std::vector<std::int64_t> forced_charges(const Problem& problem, std::size_t room) {
  std::vector<std::int64_t> charges(problem.stages + 1, 0);
  for (const Interval& item : problem.intervals) {
    if (item.room != room || !item.forced) continue;
    charges[item.first] += static_cast<std::int64_t>(item.charge);
    charges[item.last + 1] -= static_cast<std::int64_t>(item.charge);
  }
  std::partial_sum(charges.begin(), charges.end(), charges.begin());
  charges.pop_back();
  return charges;
}

}  // namespace fheres::compile
