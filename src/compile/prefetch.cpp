#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include <fheres/base/check.hpp>
#include <fheres/compile/prefetch.hpp>

#include "compile/charges.hpp"
#include "compile/early_drops.hpp"
#include "compile/late_departures.hpp"
#include "compile/replay.hpp"
#include "compile/touch.hpp"
#include "compile/transfers.hpp"

namespace fheres::compile {
namespace {

using residency::ActionExplanation;
using residency::Phase;
using workload::NamedAction;
using workload::Program;
using workload::ProgramStage;
using workload::Rehearsal;

/// A transfer that could be queued earlier: an ensure of a stage's `enter`, or the copy of a move that makes room.
struct Movable {
  std::size_t stage = 0;  // that it is for
  Phase phase = Phase::enter;
  std::size_t index = 0;  // within its phase
  ValueIndex value = 0;
  Location at = Location::pageable_host();
  Bytes charge = 0;
  Bytes temporary = 0;       // charged there until it is settled: a copy of its backing (R66)
  std::size_t earliest = 0;  // stage from whose prefetch on it means the same
  std::size_t latest = 0;    // last stage whose prefetch comes before it
  std::size_t removed = 0;   // stage in which its arrival is settled at the latest
  double ns = 0;
  double needed_ns = 0;  // when an operation wants it, in the forecast that is looked at
  std::size_t placed = 0;
  bool moves = false;
  std::optional<std::size_t>
      settled{};  // stage before whose `enter` it is waited for, so that it slides from then on
};

/// How much earlier than just in time transfers begin: by so many times their own length, all of them as if copies took so
/// many times as long.
struct Haste {
  double slack = 0;
  double copies = 1;
};
constexpr Haste kJustInTime{0, 1}, kEarlier{0.5, 1}, kSpare{0.5, 1.5}, kAsEarlyAsPossible{1e9, 1};
constexpr int kRounds = 2;
/// Replays of one placement; and of all of them together, fewer where one takes long.
constexpr std::size_t kRepairs = 200, kFewReplays = 24, kStagesReplayed = 200'000;
/// How many stages ahead anything is prefetched: far more than memory ever allows to be of use.
constexpr std::size_t kHorizon = 512;

/// What slides while the host waits anyway costs nothing in the forecast, and something where that is wrong: of equal plans
/// the one that slides less.
double cost_of(const Forecast& told) { return told.makespan_ns + told.compaction_ns; }
bool is_better(const Forecast& a, const Forecast& b) { return cost_of(a) < cost_of(b); }

/// Plans whose costs are this near each other are alike. Of those the one with time to spare wins: a machine is never as
/// regular as its forecast, and what comes too late is waited for.
constexpr double kAlike = 0.002;

class Placer {
 public:
  /// `limit_ns`: no plan that takes longer is of use.
  Placer(const Program& program, const workload::Machine& machine, const StageCosts& costs,
         double limit_ns = std::numeric_limits<double>::infinity())
      : program_(program),
        machine_(machine),
        costs_(costs),
        limit_ns_(limit_ns),
        replays_left_(
            std::max(kFewReplays, kStagesReplayed / std::max<std::size_t>(program.stages.size(), 1))),
        base_(workload::rehearse(program)) {}

  Placed run() {
    Placed best{program_, {}};
    if (base_.answer != workload::Answer::feasible) return best;
    best.forecast = forecast(program_, base_, machine_, costs_);
    limit_ns_ = std::min(limit_ns_, best.forecast.makespan_ns);
    least_ns_ = cost_of(best.forecast);
    find_movable();
    if (movable_.empty()) return best;
    double before = best.forecast.makespan_ns;
    Forecast looked_at = best.forecast;
    for (int round = 0; round < kRounds; ++round) {
      note_needs(looked_at);
      for (const Haste& haste : {kJustInTime, kEarlier, kSpare, kAsEarlyAsPossible}) {
        place(looked_at, haste);
        haste_ = haste;
        if (!is_new()) continue;
        const std::vector<Movable> placed = movable_;
        if (consider(best, false)) continue;  // nothing was in the way
        movable_ = placed;
        consider(best, true);
      }
      // Less waiting changes when things are needed.
      if (best.forecast.makespan_ns >= before) break;
      before = best.forecast.makespan_ns;
      looked_at = best.forecast;
    }
    return best;
  }

 private:
  /// Whether nothing was placed like this before.
  bool is_new() {
    std::vector<std::size_t> now;
    for (const std::size_t i : order_) {
      now.push_back(i);
      now.push_back(movable_[i].moves ? movable_[i].placed : program_.stages.size());
    }
    if (std::find(seen_.begin(), seen_.end(), now) != seen_.end()) return false;
    seen_.push_back(std::move(now));
    return true;
  }

  // ---- What may move, and how far

  void find_movable() {
    const ValueTable index(program_, base_);
    std::vector<Touch> touches = touches_of(index);
    for (std::size_t s = 0; s < base_.stages.size(); ++s) {
      find_departures(s, index, touches);
      // What nobody is known to wait for would only look faster.
      if (costs_[s].operations.empty() && program_.stages[s].require.empty()) continue;
      std::map<ValueIndex, std::size_t> in_enter, in_reclaim;  // how often the stage names it there
      for (const NamedAction& action : program_.stages[s].enter) ++in_enter[action.value];
      for (const NamedAction& action : program_.stages[s].reclaim) ++in_reclaim[action.value];
      for (const ActionExplanation& action : base_.stages[s].explanation.actions) {
        if (action.phase != Phase::enter || action.no_op || !may_arrive(action)) continue;
        const ValueIndex value = index.of(residency::value_of(action.action));
        if (in_enter[value] != 1) continue;
        Movable item;
        item.stage = item.latest = item.placed = s;
        item.index = action.index;
        item.value = value;
        item.at = *action.destination;
        item.charge = program_.world.values[value].spec.storage_bytes;
        item.temporary = action.temporary_bytes;
        item.ns = machine_.copy_ns(*action.source, item.at, action.bytes).value_or(0);
        if (action.expanded_from)
          item.ns += machine_.expand_ns(program_.world.values[value].spec.logical_bytes).value_or(0);
        item.earliest = in_reclaim.contains(value) ? s : touches[value].before(s);
        item.removed = is_required(s, value, item.at) ? s : touches[value].after(s);
        if (action.expanded_from) {
          const Touch& backing = touches[index.of(*action.expanded_from)];
          // Where the stage does something with its backing too, the order of the two is the document's.
          if (backing.in(s)) continue;
          item.earliest = std::max(item.earliest, backing.before(s));
          item.removed = std::min(item.removed, backing.after(s));
        }
        movable_.push_back(item);
      }
    }
  }

  /// Moves off a device whose copy may run before: the move then waits for it, and only removes. An exclusive value is
  /// never at two places.
  void find_departures(std::size_t s, const ValueTable& index, const std::vector<Touch>& touches) {
    std::map<ValueIndex, std::size_t> named;
    for (const ActionExplanation& action : base_.stages[s].explanation.actions)
      if (!action.no_op) ++named[index.of(residency::value_of(action.action))];
    for (const ActionExplanation& action : base_.stages[s].explanation.actions) {
      if (action.phase != Phase::reclaim && action.phase != Phase::exit) continue;
      if (action.no_op || action.bytes == 0 || !std::holds_alternative<residency::Move>(action.action))
        continue;
      if (action.destination != Location::pinned_host() || !action.source || !action.source->is_cuda())
        continue;
      const ValueIndex value = index.of(residency::value_of(action.action));
      const residency::ValueSpec& spec = program_.world.values[value].spec;
      if (named[value] != 1 || spec.replica_mode == residency::ReplicaMode::exclusive) continue;
      Movable item;
      item.stage = item.placed = s;
      item.phase = action.phase;
      item.index = action.index;
      item.value = value;
      item.at = *action.destination;
      item.charge = spec.storage_bytes;
      item.earliest = touches[value].before(s);
      // What its own stage makes is not there yet when that prefetches.
      if (program_.world.values[value].produced_by == s || (action.phase == Phase::reclaim && s == 0))
        continue;
      item.latest = action.phase == Phase::exit ? s : s - 1;
      item.removed = s;
      item.ns = machine_.copy_ns(*action.source, item.at, action.bytes).value_or(0);
      if (item.earliest <= item.latest) movable_.push_back(item);
    }
  }

  /// Then its arrival is settled at the end of that stage's body (R23).
  bool is_required(std::size_t s, ValueIndex value, Location at) const {
    const auto& require = program_.stages[s].require;
    return std::any_of(require.begin(), require.end(), [&](const workload::Requirement& item) {
      return item.value == value && item.at == at;
    });
  }

  /// R21, and no copy through staging: that is charged at pinned-host until it is settled.
  static bool may_arrive(const ActionExplanation& action) {
    if (!std::holds_alternative<residency::Ensure>(action.action)) return false;
    if (!action.destination || !action.destination->is_cuda() || !action.source) return false;
    if (*action.source == Location::pageable_host() || action.staged_bytes != 0) return false;
    return action.bytes != 0 || action.expanded_from.has_value();
  }

  std::vector<Touch> touches_of(const ValueTable& index) const {
    std::vector<Touch> touches(program_.world.values.size());
    const auto touch = [&](ValueIndex value, std::size_t stage, bool after_prefetch) {
      auto& times = touches[value].times;
      const std::size_t from = stage + (after_prefetch ? 1 : 0);
      if (times.empty() || times.back().stage != stage) times.push_back({stage, from});
      times.back().from = std::max(times.back().from, from);
    };
    for (std::size_t s = 0; s < base_.stages.size(); ++s) {
      for (const ActionExplanation& action : base_.stages[s].explanation.actions) {
        if (action.no_op) continue;
        // What is prefetched already is queued before what would be added.
        touch(index.of(residency::value_of(action.action)), s, action.phase == Phase::exit);
      }
      for (const workload::Produced& item : program_.stages[s].produce) touch(item.value, s, true);
      for (const workload::Operand& item : program_.stages[s].release) touch(item.index, s, true);
    }
    return touches;
  }

  // ---- When each is needed

  void note_needs(const Forecast& looked_at) {
    for (Movable& item : movable_) {
      const Forecast::Stage& stage = looked_at.stages[item.stage];
      if (item.phase != Phase::enter) {
        item.needed_ns =
            item.phase == Phase::reclaim ? stage.start_ns : stage.body_ns + stage.compute_ns + stage.stall_ns;
        continue;
      }
      double time = stage.body_ns;
      for (const OperationCost& operation : costs_[item.stage].operations) {
        if (std::find(operation.reads.begin(), operation.reads.end(), item.value) != operation.reads.end())
          break;
        time += operation.ns;
      }
      item.needed_ns = time;
    }
    order_.resize(movable_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(movable_[a].stage, movable_[a].needed_ns) <
             std::pair(movable_[b].stage, movable_[b].needed_ns);
    });
  }

  // ---- Placement: as late as bandwidth allows, as early as memory allows

  void place(const Forecast& looked_at, const Haste& haste) {
    std::vector<std::size_t> wanted(movable_.size());
    std::map<Location, double> free_until;  // of the copies to each device, backwards
    for (std::size_t i = order_.size(); i-- > 0;) {
      Movable& item = movable_[order_[i]];
      const auto next = free_until.try_emplace(item.at, std::numeric_limits<double>::infinity()).first;
      const double end = std::min(item.needed_ns, next->second), ns = item.ns * haste.copies;
      const double start = end - ns - item.ns * haste.slack;
      next->second = end - ns;
      std::size_t stage = item.latest;
      const std::size_t floor = std::max(item.earliest, item.stage - std::min(item.stage, kHorizon));
      while (stage > floor && looked_at.stages[stage].body_ns > start) --stage;
      wanted[order_[i]] = stage;
    }
    Charges charges(program_, base_);
    for (const std::size_t i : order_) {
      Movable& item = movable_[i];
      const std::size_t before = item.phase == Phase::enter ? item.index : 0;
      const auto placed = charges.reserve_ahead(
          {item.at, item.stage, before, wanted[i], item.removed, item.charge, item.temporary});
      item.moves = placed.has_value() && *placed <= item.latest;
      item.placed = placed.value_or(item.stage);
      item.settled.reset();
    }
  }

  /// The Program with the ensures where they were placed, in the order in which they are needed.
  Program apply() const {
    Program made = program_;
    std::vector<std::vector<std::size_t>> gone(made.stages.size());
    for (const std::size_t i : order_) {
      const Movable& item = movable_[i];
      if (!item.moves) continue;
      std::vector<NamedAction>& into = made.stages[item.placed].prefetch;
      if (item.phase == Phase::enter) {
        into.push_back(program_.stages[item.stage].enter[item.index]);
        gone[item.stage].push_back(item.index);
      } else {
        const ProgramStage& stage = program_.stages[item.stage];
        into.push_back((item.phase == Phase::reclaim ? stage.reclaim : stage.exit)[item.index]);
        into.back().verb = NamedAction::Verb::ensure;
      }
    }
    for (std::size_t s = 0; s < gone.size(); ++s) {
      std::sort(gone[s].begin(), gone[s].end());
      for (std::size_t i = gone[s].size(); i-- > 0;)
        made.stages[s].enter.erase(made.stages[s].enter.begin() + static_cast<std::ptrdiff_t>(gone[s][i]));
    }
    std::vector<std::vector<NamedAction>> waits(made.stages.size());
    for (const std::size_t i : order_) {
      const Movable& item = movable_[i];
      if (item.moves && item.settled)
        waits[*item.settled].push_back({NamedAction::Verb::ensure, item.value, item.at, {}, {}});
    }
    for (std::size_t s = 0; s < waits.size(); ++s)
      made.stages[s].enter.insert(made.stages[s].enter.begin(), waits[s].begin(), waits[s].end());
    return made;
  }

  /// Replays what was placed, and rehearses it where it goes. Where a stage does not go, some of what is on its way in it
  /// is waited for before, with `waits`, or comes later. Whether it went as it was.
  bool consider(Placed& best, bool waits) {
    for (std::size_t repair = 0; repair < kRepairs && replays_left_ > 0; ++repair) {
      --replays_left_;
      Program made = apply();
      const Replay replayed = replay(made);
      if (replayed.feasible) {
        const Rehearsal rehearsal = workload::rehearse(made);
        FHERES_CHECK(rehearsal.moved_bytes == base_.moved_bytes);
        Forecast told = forecast(made, rehearsal, machine_, costs_);
        if (told.makespan_ns <= limit_ns_ && is_preferred(told)) best = {std::move(made), std::move(told)};
        return repair == 0;
      }
      if (!replayed.stage) return false;
      const std::size_t bad = *replayed.stage;
      if (!(waits && wait_in(bad)) && !delay(bad) && !keep_back(bad)) return false;
    }
    return false;
  }

  bool is_preferred(const Forecast& told) {
    const double cost = cost_of(told);
    const bool spares = haste_.slack < kAsEarlyAsPossible.slack && haste_.copies >= preferred_.copies &&
                        haste_.slack >= preferred_.slack;
    if (cost >= least_ns_ && !(spares && cost <= least_ns_ * (1 + kAlike))) return false;
    least_ns_ = std::min(least_ns_, cost);
    preferred_ = haste_;
    return true;
  }

  /// What was queued in stages before has often arrived, though nobody has read it: an ensure then ends its arrival.
  bool wait_in(std::size_t stage) {
    bool changed = false;
    for (Movable& item : movable_) {
      const bool early =
          item.moves && item.phase == Phase::enter && item.placed < stage && item.stage > stage;
      if (!early || (item.settled && *item.settled <= stage)) continue;
      item.settled = stage;
      changed = true;
    }
    return changed;
  }

  /// What is on its way does not slide, so it can keep the stage's free bytes apart. Of what is so for later stages, the
  /// half that is needed last comes after the stage.
  bool delay(std::size_t stage) {
    std::vector<std::size_t> early;
    for (const std::size_t i : order_) {
      const Movable& item = movable_[i];
      const bool slides = item.settled && *item.settled <= stage;
      if (item.moves && item.placed <= stage && item.stage > stage && !slides) early.push_back(i);
    }
    for (std::size_t k = early.size() / 2; k < early.size(); ++k) {
      Movable& item = movable_[early[k]];
      item.placed = stage + 1;
      item.settled.reset();
      item.moves = item.placed <= item.latest;
    }
    return !early.empty();
  }

  /// Then what is for that very stage stays where it was.
  bool keep_back(std::size_t stage) {
    bool changed = false;
    for (Movable& item : movable_) {
      if (!item.moves || item.placed > stage || item.removed < stage) continue;
      item.moves = false;
      changed = true;
    }
    return changed;
  }

  const Program& program_;
  const workload::Machine& machine_;
  const StageCosts& costs_;
  double limit_ns_;
  double least_ns_ = 0;      // what the cheapest placement costs
  Haste haste_, preferred_;  // of the placement that is looked at, and of the best
  std::size_t replays_left_;
  Rehearsal base_;
  std::vector<Movable> movable_;
  std::vector<std::size_t> order_;  // of movable_, by need
  std::vector<std::vector<std::size_t>> seen_;
};

}  // namespace

Placed place_transfers(const Program& program, const workload::Machine& machine, const StageCosts& costs) {
  Placed best = Placer(program, machine, costs).run();
  const Rehearsal plain = workload::rehearse(program);
  if (plain.answer != workload::Answer::feasible) return best;
  const double limit_ns = forecast(program, plain, machine, costs).makespan_ns;
  const auto consider = [&](const Program& made) {
    const Rehearsal rehearsed = workload::rehearse(made);
    if (rehearsed.answer != workload::Answer::feasible || rehearsed.moved_bytes != plain.moved_bytes)
      return false;
    Placed placed = Placer(made, machine, costs, limit_ns).run();
    if (placed.forecast.makespan_ns <= limit_ns && is_better(placed.forecast, best.forecast))
      best = std::move(placed);
    return true;
  };
  const Program eager = with_early_drops(program, plain, costs);
  const bool dropped = consider(eager);
  const Program& start = dropped ? eager : program;
  const auto exits = [](const Program& made) {
    std::vector<std::size_t> sizes;
    for (const ProgramStage& stage : made.stages) sizes.push_back(stage.exit.size());
    return sizes;
  };
  const Program late = with_late_departures(start, costs);
  if (exits(late) != exits(start)) consider(late);
  return best;
}

}  // namespace fheres::compile
