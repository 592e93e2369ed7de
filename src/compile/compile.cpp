#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/compile/compile.hpp>
#include <fheres/compile/prefetch.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "as_it_is.hpp"
#include "belady.hpp"
#include "bound.hpp"
#include "branch_and_bound.hpp"
#include "certificate.hpp"
#include "choice.hpp"
#include "replay.hpp"
#include "route.hpp"
#include "variant_search.hpp"

namespace fheres::compile {
namespace {

/// Where a plan needs more room than charges alone say, as many times it is made again with less to spend there.
constexpr int kRepairs = 24;
/// So many times in the stage where there was no piece, and then in all that are alike.
constexpr int kApart = 4;
/// Beyond so many stages times values the controller is not asked: a decision costs what the world is large.
constexpr std::size_t kControllerLimit = 4'000'000;

/// Rows and columns times nodes, where the user gives no limit: so that large workloads open few.
constexpr std::uint64_t kNodeWork = 1'500'000;

/// A way to a choice, given the room that there is.
using Maker = std::function<Choice(const std::vector<Room>&)>;

class Compiler {
 public:
  Compiler(const Workload& workload, const CompileOptions& options, bool quick)
      : workload_(workload), options_(options), quick_(quick), problem_(make_problem(workload)) {}

  Outcome run() {
    if (auto infeasible = find_certificate(workload_, problem_)) return std::move(*infeasible);
    if (auto infeasible = find_joint_certificate(workload_, problem_)) return std::move(*infeasible);
    if (!quick_) try_controller();
    const std::vector<std::size_t> order = by_value(problem_);
    const auto furthest = [&](const std::vector<Room>& rooms) { return furthest_next_use(problem_, rooms); };
    try_choices("furthest-next-use", furthest);
    try_choices("value-per-room", [&](const std::vector<Room>& rooms) {
      Choice choice(problem_, rooms);
      choice.fill(order);
      improve(choice, problem_, kExchanges);
      return choice;
    });
    const Bound bound(problem_);
    const Branched branched =
        branch_and_bound(problem_, bound, moved(), node_limit(bound),
                         [&](const char* method, const std::vector<std::size_t>& intervals, bool exchange) {
                           offer(method, intervals, exchange);
                           return moved();
                         });
    if (quick_ && !best_) try_controller();
    if (!best_) return Inconclusive{std::move(attempts_), nothing_found()};
    if (options_.minimize == CompileOptions::Minimize::time) leave_room_ahead();
    finish(branched);
    return Compiled{std::move(*best_), std::move(attempts_)};
  }

 private:
  static constexpr std::size_t kExchanges = 20'000;

  Bytes moved() const { return best_ ? best_replay_.moved_bytes : std::numeric_limits<Bytes>::max(); }

  std::uint64_t node_limit(const Bound& bound) const {
    if (options_.node_limit) return *options_.node_limit;
    return std::clamp<std::uint64_t>(kNodeWork / (bound.rows().size() + bound.columns().size() + 1), 16,
                                     20'000);
  }

  /// What branch and bound found: routed and replayed only where it promises to be better.
  void offer(const char* method, const std::vector<std::size_t>& intervals, bool exchange) {
    const auto make = [&](const std::vector<Room>& rooms) {
      Choice choice(problem_, rooms);
      choice.fill(intervals);
      if (exchange) improve(choice, problem_, kExchanges);
      return choice;
    };
    if (best_ && make(problem_.rooms).price() >= moved()) return;
    try_choices(method, make);
  }

  std::string nothing_found() const {
    std::string reason = "no plan was found that replays, and no proof that there is none";
    for (const Attempt& attempt : attempts_)
      reason += fmt::format("; {}: {}", attempt.method, attempt.reason);
    return reason;
  }

  /// What the policy would do, one stage at a time, as a program.
  void try_controller() {
    if (problem_.stages * workload_.world.values.size() > kControllerLimit) {
      attempts_.push_back({"controller", {}, "the workload is too large to ask it stage by stage", {}});
      return;
    }
    control::DecideOptions decide;
    decide.search_state_limit = options_.search_state_limit;
    const bool by_hand = std::any_of(workload_.stages.begin(), workload_.stages.end(),
                                     [](const workload::Stage& stage) { return stage.plan.has_value(); });
    if (by_hand) try_rehearsal("by-hand", workload_, decide);
    Workload free = workload_;
    for (workload::Stage& stage : free.stages) stage.plan.reset();
    try_rehearsal("controller", free, decide);
  }

  void try_rehearsal(const char* method, const Workload& workload, const control::DecideOptions& decide) {
    const workload::Rehearsal rehearsal = workload::rehearse(workload, decide);
    if (rehearsal.answer != workload::Answer::feasible) {
      const std::size_t begun = rehearsal.stages.size();
      attempts_.push_back({method, {}, rehearsal.reason, begun == 0 ? 0 : begun - 1});
      return;
    }
    const std::vector<ValueIndex> order = workload.world.placement_order();  // serials count in this order
    const auto named = [&](const residency::Action& action) {
      workload::NamedAction result;
      result.value = order[residency::value_of(action).serial];
      if (const auto* ensure = std::get_if<residency::Ensure>(&action)) {
        result.verb = workload::NamedAction::Verb::ensure;
        result.at = ensure->at;
        result.from = ensure->from;
      } else if (const auto* move = std::get_if<residency::Move>(&action)) {
        result.verb = workload::NamedAction::Verb::move;
        result.at = move->to;
        result.from = move->from;
      } else {
        result.verb = workload::NamedAction::Verb::drop;
        result.at = std::get<residency::Drop>(action).at;
      }
      return result;
    };
    workload::Program program = skeleton(workload_);
    for (std::size_t s = 0; s < program.stages.size(); ++s) {
      workload::ProgramStage& out = program.stages[s];
      if (const auto& plan = workload.stages[s].plan) {
        out.reclaim = plan->reclaim;
        out.enter = plan->enter;
        out.prefetch = plan->prefetch;
        out.exit = plan->exit;
        continue;
      }
      const control::Decision& decision = *rehearsal.stages[s].decision;
      for (const residency::Action& action : decision.plan.reclaim) out.reclaim.push_back(named(action));
      // The policy names what is there already too; a stage with hundreds of inputs need not ask after each.
      std::vector<bool> is_there(decision.plan.enter.size());
      for (const residency::ActionExplanation& told : rehearsal.stages[s].explanation.actions)
        if (told.phase == residency::Phase::enter && told.no_op) is_there[told.index] = true;
      for (std::size_t i = 0; i < is_there.size(); ++i)
        if (!is_there[i]) out.enter.push_back(named(decision.plan.enter[i]));
    }
    consider(method, std::move(program));
  }

  /// Plans whose enter needs more room than their charges add up to are made again with less to spend in that stage.
  void try_choices(const char* method, const Maker& make) { try_choices(method, make, problem_.rooms); }

  void try_choices(const char* method, const Maker& make, std::vector<Room> rooms) {
    std::optional<std::size_t> stuck;
    int apart = 0;  // refusals for want of one piece
    for (int round = 0; round < kRepairs; ++round) {
      const Choice choice = make(rooms);
      Replay replayed;
      if (choice.feasible()) {
        Routed routed = route(workload_, problem_, choice.kept());
        replayed = replay(routed.program);
        if (replayed.feasible) {
          accept(method, std::move(routed.program), std::move(replayed));
          return;
        }
        if (tighten(rooms, routed.shortages)) continue;
      } else {
        replayed.reason = "what has to stay leaves no room";
      }
      stuck = replayed.stage;
      const bool pieces = replayed.refusal && replayed.refusal->rule == residency::Refusal::Rule::fragmented;
      if (!tighten(rooms, replayed, pieces && ++apart > kApart)) {
        attempts_.push_back({method, {}, replayed.reason, stuck});
        return;
      }
    }
    attempts_.push_back({method, {}, fmt::format("{} repairs did not make it replay", kRepairs), stuck});
  }

  /// What keeps the room full moves least, and then nothing can come in before it is needed. So where time decides, plans
  /// are made too that keep less, by one and by two of the largest values.
  void leave_room_ahead() {
    Bytes largest = 0;
    for (const workload::Stage& stage : workload_.stages)
      for (const workload::Requirement& item : stage.require)
        if (item.at.is_cuda())
          largest = std::max(largest, workload_.world.values[item.value].spec.storage_bytes);
    for (const auto& [method, count] : {std::pair("furthest-next-use, room for one more", 1),
                                        std::pair("furthest-next-use, room for two more", 2)}) {
      std::vector<Room> rooms = problem_.rooms;
      const auto ahead = static_cast<std::int64_t>(largest) * count;
      for (Room& room : rooms) {
        if (!room.at.is_cuda()) continue;
        for (std::int64_t& free : room.free) free = std::max(free - ahead, std::min<std::int64_t>(free, 0));
      }
      try_choices(
          method, [&](const std::vector<Room>& less) { return furthest_next_use(problem_, less); }, rooms);
    }
  }

  /// Wherever charges alone say that there is none, at once. False where they do not.
  bool tighten(std::vector<Room>& rooms, const std::vector<Shortage>& shortages) const {
    for (const Shortage& item : shortages)
      if (const auto room = problem_.room_at(item.at))
        rooms[*room].free[item.stage] -= static_cast<std::int64_t>(item.bytes);
    return !shortages.empty();
  }

  /// False where the refusal is not about room in a stage. `everywhere`: as much less in each stage that something may be
  /// expanded in, for the copy of its backing keeps the room apart in each.
  bool tighten(std::vector<Room>& rooms, const Replay& replayed, bool everywhere) const {
    if (!replayed.stage || !replayed.refusal) return false;
    const residency::Refusal& refusal = *replayed.refusal;
    const auto room = problem_.room_at(refusal.at);
    if (!room) return false;
    Bytes lacks = 0;
    if (refusal.rule == residency::Refusal::Rule::budget) {
      const Bytes needed = refusal.used + refusal.reserved + refusal.requested;
      lacks = needed - std::min(needed, refusal.budget);
    } else if (refusal.rule == residency::Refusal::Rule::fragmented) {
      // With so much more free there is a piece, wherever the blocks in the way are.
      lacks = refusal.requested - std::min(refusal.requested, refusal.largest_free);
    }
    for (std::size_t s = 0; s < problem_.stages; ++s)
      if (s == *replayed.stage || (everywhere && expands(s, refusal.at)))
        rooms[*room].free[s] -= static_cast<std::int64_t>(lacks);
    return lacks != 0;
  }

  bool expands(std::size_t stage, Location at) const {
    const auto& required = workload_.stages[stage].require;
    return std::any_of(required.begin(), required.end(), [&](const workload::Requirement& item) {
      return item.at == at && workload_.world.values[item.value].backing;
    });
  }

  void consider(const char* method, workload::Program program) {
    Replay replayed = replay(program);
    if (replayed.feasible) {
      accept(method, std::move(program), std::move(replayed));
    } else {
      attempts_.push_back({method, {}, replayed.reason, replayed.stage});
    }
  }

  void accept(const char* method, workload::Program program, Replay replayed) {
    attempts_.push_back({method, replayed.moved_bytes, {}, {}});
    if (options_.minimize == CompileOptions::Minimize::time)
      finalists_.push_back({method, program, replayed});
    const auto key = [](const Replay& r) { return std::pair(r.moved_bytes, r.compacted_bytes); };
    if (best_ && key(replayed) >= key(best_replay_)) return;
    best_ = std::move(program);
    best_replay_ = std::move(replayed);
    best_method_ = method;
  }

  Placed placed(const workload::Program& program) const {
    return place_transfers(program, *options_.machine, costs_of(program, &workload_, *options_.machine));
  }

  /// Of the plans that were found, whichever the machine runs fastest once its transfers are placed.
  void choose_fastest() {
    std::optional<double> least;
    for (Finalist& item : finalists_) {
      const double takes = placed(item.program).forecast.makespan_ns;
      if (least && takes >= *least) continue;
      least = takes;
      best_method_ = item.method;
      best_ = item.program;
      best_replay_ = item.replayed;
    }
  }

  workload::TimeEvidence place_ahead() {
    Placed ahead = placed(*best_);
    const Replay replayed = replay(ahead.program);
    FHERES_CHECK(replayed.feasible && replayed.moved_bytes == best_replay_.moved_bytes);
    best_ = std::move(ahead.program);
    best_replay_ = replayed;
    return {options_.machine->name, static_cast<std::uint64_t>(ahead.forecast.makespan_ns + 0.5),
            static_cast<std::uint64_t>(ahead.forecast.bound_ns)};
  }

  void finish(const Branched& branched) {
    FHERES_CHECK(branched.lower_bound <= best_replay_.moved_bytes);
    if (options_.minimize == CompileOptions::Minimize::time) choose_fastest();
    std::optional<workload::TimeEvidence> time;
    if (options_.machine) time = place_ahead();
    workload::Evidence evidence;
    evidence.method = best_method_;
    evidence.moved_bytes = best_replay_.moved_bytes;
    evidence.lower_bound_bytes = branched.lower_bound;
    evidence.nodes = branched.nodes;
    evidence.bound = branched.lp ? "lp" : "combinatorial";
    evidence.compactions = best_replay_.compactions;
    evidence.compacted_bytes = best_replay_.compacted_bytes;
    evidence.peaks = best_replay_.peaks;
    evidence.minimize = options_.minimize == CompileOptions::Minimize::time ? "time" : "bytes";
    evidence.time = std::move(time);
    best_->evidence = std::move(evidence);
  }

  const Workload& workload_;
  const CompileOptions& options_;
  const bool quick_;
  const Problem problem_;
  std::optional<workload::Program> best_;
  Replay best_replay_;
  std::string best_method_;
  std::vector<Attempt> attempts_;
  struct Finalist {
    std::string method;
    workload::Program program;
    Replay replayed;
  };
  std::vector<Finalist> finalists_;  // where time decides
};

}  // namespace

Outcome compile_as_it_is(const Workload& workload, const CompileOptions& options, bool quick) {
  return Compiler(workload, options, quick).run();
}

Outcome compile(const workload::Workload& workload, const CompileOptions& options) {
  return workload.questions.empty() ? compile_as_it_is(workload, options) : compile_open(workload, options);
}

}  // namespace fheres::compile
