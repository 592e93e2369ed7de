#include "route.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fheres/memory/bandwidth.hpp>

namespace fheres::compile {
namespace {

using workload::NamedAction;
using workload::Program;
using workload::ProgramStage;
using workload::Stage;
using workload::Value;
using Verb = NamedAction::Verb;

class Router {
 public:
  Router(const Workload& workload, const Problem& problem, const std::vector<char>& kept)
      : workload_(workload), problem_(problem), places_(values().size()), backs_(values().size(), 0) {
    for (const auto& [at, budget] : workload.world.budgets()) free_[at] = static_cast<std::int64_t>(budget);
    for (ValueIndex v = 0; v < values().size(); ++v)
      if (!values()[v].produced_by)
        for (const Location at : values()[v].at) arrive(v, at);
    for (const Value& value : values())
      if (value.backing) backs_[*value.backing] = 1;
    routed_.program = skeleton(workload);
    leaves_.resize(problem.stages + 1);
    for (std::size_t i = 0; i < problem.intervals.size(); ++i)
      if (!kept[i]) leaves_[problem.intervals[i].first].push_back(problem.intervals[i].lane);
  }

  Routed run() {
    for (stage_ = 0; stage_ < problem_.stages; ++stage_) {
      const Stage& stage = workload_.stages[stage_];
      ProgramStage& out = routed_.program.stages[stage_];
      if (stage_ == 0) leave(leaves_[0], out.reclaim);
      const std::vector<Arrival> arrivals = arrivals_of(stage);
      for (const Arrival& item : arrivals)
        if (item.early) bring(item, out.reclaim);
      for (const workload::Reservation& item : stage.reserve) charge(item.spec.at, item.spec.bytes);
      for (const Arrival& item : arrivals)
        if (!item.early) bring(item, out.enter);
      for (const workload::Output& output : stage.outputs) arrive(output.value, *stage.at);
      // What is produced was charged with its reservation, so both charges stand here for a moment: as an upper bound.
      for (const workload::Reservation& item : stage.reserve) discharge(item.spec.at, item.spec.bytes);
      leave(leaves_[stage_ + 1], out.exit);
      for (const workload::Operand& item : stage.release)
        while (!places_[item.index].empty()) depart(item.index, *places_[item.index].begin());
    }
    return std::move(routed_);
  }

 private:
  const std::vector<Value>& values() const { return workload_.world.values; }
  Bytes bytes(ValueIndex v) const { return values()[v].spec.storage_bytes; }
  bool exclusive(ValueIndex v) const {
    return values()[v].spec.replica_mode == residency::ReplicaMode::exclusive;
  }
  bool made_again(ValueIndex v) const {
    return values()[v].source.has_value() || values()[v].backing.has_value();
  }

  void charge(Location at, Bytes amount) {
    if (const auto found = free_.find(at); found != free_.end())
      found->second -= static_cast<std::int64_t>(round_up_to_granule(amount));
  }
  void discharge(Location at, Bytes amount) {
    if (const auto found = free_.find(at); found != free_.end())
      found->second += static_cast<std::int64_t>(round_up_to_granule(amount));
  }
  bool has_room(Location at, Bytes amount) const {
    const auto found = free_.find(at);
    return found == free_.end() || found->second >= static_cast<std::int64_t>(amount);
  }
  void arrive(ValueIndex v, Location at) {
    if (places_[v].insert(at).second) charge(at, bytes(v));
  }
  void depart(ValueIndex v, Location at) {
    if (places_[v].erase(at) != 0) discharge(at, bytes(v));
  }

  /// Room beside itself that the value needs while it comes: a copy of what it is expanded from.
  Bytes beside(ValueIndex v, Location at) const {
    const auto backing = values()[v].backing;
    if (!backing || !places_[v].empty() || places_[*backing].count(at) != 0) return 0;
    return bytes(*backing);
  }

  /// Whether what it is expanded from is required beside it, and so comes before it, as any other value does.
  bool needs_backing(const Stage& stage, const workload::Requirement& item) const {
    return std::any_of(stage.require.begin(), stage.require.end(), [&](const auto& other) {
      return other.at == item.at && other.value == values()[item.value].backing;
    });
  }

  /// Something that a stage requires and that is not there.
  struct Arrival {
    ValueIndex value = 0;
    Location at = Location::pageable_host();
    bool early = false;  // before reservations are admitted
  };

  std::vector<Arrival> arrivals_of(const Stage& stage) const {
    std::vector<workload::Requirement> missing;
    for (const workload::Requirement& item : stage.require)
      if (places_[item.value].count(item.at) == 0) missing.push_back(item);
    std::stable_sort(missing.begin(), missing.end(), [&](const auto& a, const auto& b) {
      if (backs_[a.value] != backs_[b.value]) return backs_[a.value] > backs_[b.value];
      return beside(a.value, a.at) > beside(b.value, b.at);
    });
    std::map<Location, Bytes> more;  // charged from the stage's beginning to the arrival
    for (const workload::Reservation& item : stage.reserve)
      more[item.spec.at] += round_up_to_granule(item.spec.bytes);
    std::vector<Arrival> arrivals;
    for (const workload::Requirement& item : missing) {
      const Bytes both = bytes(item.value) + beside(item.value, item.at);
      const bool expands = both > bytes(item.value) && !needs_backing(stage, item);
      arrivals.push_back({item.value, item.at, expands && !has_room(item.at, more[item.at] + both)});
      more[item.at] += bytes(item.value);
    }
    return arrivals;
  }

  void bring(const Arrival& item, std::vector<NamedAction>& actions) {
    const ValueIndex v = item.value;
    const Location at = item.at;
    const std::optional<Location> from = nearest(v, at);
    const Bytes meanwhile = beside(v, at);
    arrive(v, at);
    note_shortage(at, meanwhile);
    if (exclusive(v) && from) {
      actions.push_back({Verb::move, v, at, from, {}});
      depart(v, *from);
    } else {
      actions.push_back({Verb::ensure, v, at, from, {}});
    }
  }

  /// `meanwhile`: charged beside what is there.
  void note_shortage(Location at, Bytes meanwhile) {
    const auto found = free_.find(at);
    if (found == free_.end()) return;
    const std::int64_t lacks = static_cast<std::int64_t>(meanwhile) - found->second;
    if (lacks <= 0) return;
    std::vector<Shortage>& list = routed_.shortages;
    auto last = std::find_if(list.rbegin(), list.rend(),
                             [&](const Shortage& item) { return item.stage != stage_ || item.at == at; });
    if (last == list.rend() || last->stage != stage_) {
      list.push_back({stage_, at, static_cast<Bytes>(lacks)});
    } else {
      last->bytes = std::max(last->bytes, static_cast<Bytes>(lacks));
    }
  }

  /// The replica with the fastest way to `at`, hosts before other devices.
  std::optional<Location> nearest(ValueIndex v, Location at) const {
    std::optional<Location> best;
    const auto speed = [&](Location from) { return memory::known_bandwidth(from, at).value_or(0); };
    for (const Location from : places_[v]) {
      if (from == at) continue;
      const bool better =
          !best || (from.is_host() == best->is_host() ? speed(from) > speed(*best) : from.is_host());
      if (better) best = from;
    }
    return best;
  }

  void leave(const std::vector<std::size_t>& lanes, std::vector<NamedAction>& actions) {
    std::vector<NamedAction> moves;
    for (const std::size_t lane : lanes) {
      const ValueIndex v = problem_.lanes[lane].value;
      const Location at = problem_.lanes[lane].at;
      if (places_[v].count(at) == 0) continue;
      if (places_[v].size() > 1 || (made_again(v) && !backs_[v])) {
        actions.push_back({Verb::drop, v, at, {}, {}});
        depart(v, at);
      } else {
        moves.push_back({Verb::move, v, at, at, {}});
      }
    }
    for (NamedAction& move : moves) {
      const std::optional<Location> tier = tier_for(move.value, *move.from);
      if (!tier) continue;  // it stays; whether there is room then is for the replay to say
      move.at = *tier;
      arrive(move.value, *tier);
      depart(move.value, *move.from);
      actions.push_back(move);
    }
  }

  std::optional<Location> tier_for(ValueIndex v, Location from) const {
    const auto tiers = problem_.tiers.find(from);
    if (tiers == problem_.tiers.end()) return std::nullopt;
    for (const Location tier : tiers->second)
      if (has_room(tier, bytes(v))) return tier;
    return std::nullopt;
  }

  const Workload& workload_;
  const Problem& problem_;
  Routed routed_;
  std::size_t stage_ = 0;
  std::vector<std::set<Location>> places_;        // by value
  std::vector<char> backs_;                       // by value: others are expanded from it
  std::map<Location, std::int64_t> free_;         // of budgeted locations
  std::vector<std::vector<std::size_t>> leaves_;  // lanes, by the stage before which their value goes
};

}  // namespace

Program skeleton(const Workload& workload) {
  Program program;
  program.metadata = workload.metadata;
  program.world = workload.world;
  program.world.parameters.reset();
  program.world.policy = {};
  for (Value& value : program.world.values) {
    const residency::Recoverability recoverability = value.spec.recoverability;
    value.spec =
        workload::make_bytes_spec(value.name.text, value.spec.logical_bytes, value.spec.replica_mode);
    value.spec.recoverability = recoverability;
    value.type.reset();
    value.message.reset();
    value.file.reset();
    value.stable_key.reset();
    value.priority = 0;
    value.question.reset();
  }
  for (const Stage& stage : workload.stages) {
    ProgramStage& out = program.stages.emplace_back();
    out.name = stage.name;
    out.variant = stage.variant;
    out.reserve = stage.reserve;
    out.require = stage.require;
    out.release = stage.release;
    if (stage.layout.workspace_from)
      out.workspace.push_back({*stage.layout.workspace_from, stage.layout.workspace_bytes});
    for (std::size_t i = 0; i < stage.outputs.size(); ++i)
      out.produce.push_back(
          {stage.outputs[i].value, *stage.at, stage.layout.output_from[i], stage.outputs[i].place});
  }
  return program;
}

Routed route(const Workload& workload, const Problem& problem, const std::vector<char>& kept) {
  return Router(workload, problem, kept).run();
}

}  // namespace fheres::compile
