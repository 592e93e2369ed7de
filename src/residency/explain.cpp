#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/residency/explain.hpp>

#include "residency/holders.hpp"

namespace fheres::residency {
namespace {

using Work = Transition::Work;

std::string value_name(const State& state, HandleId value) {
  if (value.manager == state.manager() && value.serial < state.size()) {
    const std::string& name = state.record(value).spec->name;
    if (!name.empty()) return fmt::format("'{}'", name);
  }
  return fmt::format("value {}", value.serial);
}

std::string action_text(const State& state, const Action& action) {
  const auto at = location_of(action);
  return fmt::format("{} {}{}", verb_of(action), value_name(state, value_of(action)),
                     at ? (std::holds_alternative<Move>(action) ? " to " : " at ") + at->name() : "");
}

// One plan's way through State, with what is told about it.
class DryRun {
 public:
  struct Carved {
    Location at;
    Layout::Piece piece;
  };

  DryRun(State state, Layout layout, std::string name, Detail detail, std::size_t actions,
         HolderMemo* memo = nullptr)
      : state_(std::move(state)), layout_(std::move(layout)), detail_(detail), memo_(memo) {
    out_.actions.reserve(actions);
    if (name.empty()) throw std::invalid_argument("a plan needs a name, the one given is empty");
    out_.plan = std::move(name);
    out_.state_version = state_.version();
    for (const Account& a : state_.accounts()) {
      LocationExplanation& now = row(a.at).told;
      now.charged_before = now.peak_charged = a.used + a.reserved;
    }
  }

  void actions(Phase phase, std::span<const Action> list) {
    for (std::size_t i = 0; i < list.size(); ++i) act(phase, i, list[i]);
  }

  void prefetch(std::span<const Action> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto* ensure = std::get_if<Ensure>(&list[i]);
      if (ensure == nullptr || !ensure->asynchronous)
        throw std::invalid_argument(
            fmt::format("prefetch[{}] of plan '{}' is no asynchronous ensure", i, out_.plan));
    }
    actions(Phase::prefetch, list);
  }

  void reserve(std::span<const ReservationSpec> list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      ReservationExplanation told{.index = i, .spec = list[i]};
      if (list[i].label.empty())
        throw std::invalid_argument(
            fmt::format("reservation {} of plan '{}' needs a label, the one given is empty", i, out_.plan));
      if (!out_.feasible) {
        told.reason = "not reached";
      } else {
        const auto made = state_.reserve(list[i]);
        if (const auto* refusal = std::get_if<Refusal>(&made)) {
          told.refusal = *refusal;
          told.reason = describe(*refusal, state_);
          fail(Phase::reserve, *refusal,
               fmt::format("reserve[{}] '{}' at {}: {}", i, list[i].label, list[i].at.name(), told.reason));
        } else {
          told.executable = true;
          reservations_.push_back(std::get<ReservationId>(made));
          note_peak(list[i].at);
        }
      }
      out_.reservations.push_back(std::move(told));
    }
  }

  // The body's blocks: workspace and outputs are carved first, then outputs are adopted, then the workspace goes.
  void body(std::span<const Workspace> workspace, std::span<const Production> list) {
    std::vector<Carved> carved;
    gather(workspace, list);
    for (std::size_t i = 0; i < workspace.size() && out_.feasible; ++i)
      carve(fmt::format("workspace[{}]", i), workspace[i].reservation, workspace[i].bytes, carved);
    std::vector<Carved> outputs;
    for (std::size_t i = 0; i < list.size() && out_.feasible; ++i) {
      const bool known = !state_.check(list[i].value).has_value();
      carve(fmt::format("produce[{}]", i), list[i].reservation,
            known ? state_.record(list[i].value).spec->logical_bytes : 0, outputs);
    }
    if (out_.feasible) produce(list, outputs);
    for (const Carved& block : carved) layout_.give_back(block.at, block.piece);
  }

  /// One free piece for all blocks of a body with a workspace, as Manager::gather makes at run time. The workspace never
  /// slides, so without that it may lie where it leaves no piece for an output.
  void gather(std::span<const Workspace> workspace, std::span<const Production> list) {
    if (!out_.feasible || workspace.empty() || workspace[0].reservation >= reservations_.size()) return;
    const Location at = state_.reservation(reservations_[workspace[0].reservation])->spec.at;
    Bytes all = 0;
    for (const Workspace& item : workspace) {
      const bool is_there = item.reservation < reservations_.size() &&
                            state_.reservation(reservations_[item.reservation])->spec.at == at;
      if (is_there) all += round_up_to_granule(item.bytes);
    }
    for (const Production& item : list) {
      if (item.at == at && !state_.check(item.value))
        all += round_up_to_granule(state_.record(item.value).spec->logical_bytes);
    }
    const auto kept = layout_.keep(state_, at, all, "");
    if (const auto* made = std::get_if<Layout::Kept>(&kept)) {
      layout_.give_back(at, made->piece);
      row(at).told.compacted += made->compacted;
    }
  }

  /// R23: the body has waited for what it has read.
  void settle_reads(std::span<const ValuePlace> reads) {
    if (!out_.feasible) return;
    for (const ValuePlace& read : reads) {
      if (read.value.manager != state_.manager() || !state_.arriving().has(read.value.serial)) continue;
      const Materialization* there = state_.record(read.value).at(read.at);
      if (there != nullptr && there->arrival) settle(state_, layout_, read);
    }
  }

  void produce(std::span<const Production> list, std::span<const Carved> outputs) {
    for (std::size_t i = 0; i < list.size() && out_.feasible; ++i) {
      const Production& item = list[i];
      if (item.reservation >= reservations_.size())
        throw std::invalid_argument(fmt::format("produce[{}] of plan '{}' names reservation {} of {}", i,
                                                out_.plan, item.reservation, reservations_.size()));
      capture_all(nullptr);
      auto refusal = state_.check(item.value);
      if (!refusal) {
        const Bytes bytes = state_.record(item.value).spec->logical_bytes;
        refusal = state_.adopt(item.value, item.at, bytes, reservations_[item.reservation]);
      }
      if (refusal) {
        fail(std::nullopt, *refusal,
             fmt::format("produce[{}] {} at {}: {}", i, value_name(state_, item.value), item.at.name(),
                         describe(*refusal, state_)));
      } else {
        layout_.adopt(item.value, item.at, outputs[i].piece);
        note_peak(item.at);
      }
    }
  }

  Simulation finish() {
    capture_all(nullptr);
    if (out_.feasible)
      for (const ReservationId id : reservations_) state_.release(id);
    for (const Account& a : state_.accounts()) {
      LocationExplanation& location = row(a.at).told;
      location.charged_after = a.used + a.reserved;
    }
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.told.at < b.told.at; });
    for (Row& r : rows_) out_.locations.push_back(std::move(r.told));
    return {std::move(out_), std::move(state_), std::move(layout_)};
  }

 private:
  struct Row {
    LocationExplanation told;
    bool at_new_peak = true;  // and its holders are not written down yet
  };

  void act(Phase phase, std::size_t index, const Action& action) {
    ActionExplanation& told = out_.actions.emplace_back();
    told.phase = phase;
    told.index = index;
    told.action = action;
    if (!out_.feasible) {
      told.reason = "not reached";
      return;
    }
    for (const ValuePlace& arrival : state_.arrivals_in_the_way(action)) {  // R23
      settle(state_, layout_, arrival);
      told.settles = true;
    }
    const auto begun = state_.begin(action);
    if (const auto* refusal = std::get_if<Refusal>(&begun)) {
      told.refusal = *refusal;
      told.reason = describe(*refusal, state_);
      fail(phase, *refusal,
           fmt::format("{}[{}] {}: {}", name(phase), index, action_text(state_, action), told.reason));
      return;
    }
    const Transition& t = std::get<Transition>(begun);
    const HandleId value = value_of(action);
    told.executable = true;
    told.no_op = t.work == Work::nothing;
    told.asynchronous = t.asynchronous;
    told.reason = t.no_op_reason;
    told.source = t.source;
    told.destination = t.destination;
    told.bytes = t.bytes;
    if (t.installs() && !place(told, t)) {
      state_.abort(t);
      told.executable = false;
      told.bytes = 0;
      told.reason = describe(*told.refusal, state_);
      fail(phase, *told.refusal,
           fmt::format("{}[{}] {}: {}", name(phase), index, action_text(state_, action), told.reason));
      return;
    }
    if (t.installs()) note_peak(*t.destination);
    if (t.temporary != 0) note_peak(t.temporary_at());
    if (t.staging != 0) note_peak(Location::pinned_host());
    told.staged_bytes = t.staging;
    told.temporary_bytes = t.temporary;
    told.expanded_from = t.backing;
    // What the commit takes away was still there at the peak.
    if (std::holds_alternative<Discard>(action)) {
      capture_all(nullptr);
    } else {
      if (t.removes_source) capture(row(*t.source), &t);
      if (t.temporary != 0) capture(row(t.temporary_at()), &t);
      if (t.staging != 0) capture(row(Location::pinned_host()), &t);
    }
    if (std::holds_alternative<Discard>(action)) {
      for (const Materialization& m : state_.record(value).materializations) layout_.remove(value, m.at);
    } else if (t.removes_source) {
      layout_.remove(value, *t.source);
    }
    state_.commit(t, t.block_bytes);
  }

  // The blocks of an installing action, in the order of run time: what a load makes elsewhere, and the copy that is
  // expanded from, are there until the value is.
  bool place(ActionExplanation& told, const Transition& t) {
    const HandleId value = value_of(t.action);
    std::optional<Layout::Piece> made;
    const Location made_at = t.has_temporary() ? t.temporary_at() : *t.destination;
    if (t.temporary != 0) {
      auto kept = layout_.keep(state_, made_at, t.bytes, state_.record(t.backing.value_or(value)).spec->name,
                               end_for(t));
      if (auto* refusal = std::get_if<Refusal>(&kept)) {
        refusal->value = value;
        told.refusal = std::move(*refusal);
        return false;
      }
      made = std::get<Layout::Kept>(kept).piece;
      add_compacted(made_at, std::get<Layout::Kept>(kept).compacted, told);
    }
    auto placed = layout_.place(state_, value, *t.destination, t.block_bytes, end_for(t));
    const bool stays = t.asynchronous && std::holds_alternative<Bytes>(placed);
    if (made && stays) layout_.keep_for_arrival(value, *t.destination, made_at, *made);
    if (made && !stays) layout_.give_back(made_at, *made);
    if (auto* refusal = std::get_if<Refusal>(&placed)) {
      told.refusal = std::move(*refusal);
      return false;
    }
    add_compacted(*t.destination, std::get<Bytes>(placed), told);
    return t.staging == 0 || stage(told, t);
  }

  // R64: the block that a copy between devices goes through, made last. What arrives later keeps it.
  bool stage(ActionExplanation& told, const Transition& t) {
    const Location pinned = Location::pinned_host();
    const HandleId value = value_of(t.action);
    auto kept = layout_.keep(state_, pinned, t.bytes, state_.record(value).spec->name, end_for(t));
    if (auto* refusal = std::get_if<Refusal>(&kept)) {
      refusal->value = value;
      told.refusal = std::move(*refusal);
      return false;
    }
    const Layout::Kept& made = std::get<Layout::Kept>(kept);
    add_compacted(pinned, made.compacted, told);
    if (t.asynchronous) {
      layout_.keep_for_arrival(value, *t.destination, pinned, made.piece);
    } else {
      layout_.give_back(pinned, made.piece);
    }
    return true;
  }

  void add_compacted(Location at, Bytes bytes, ActionExplanation& told) {
    told.compacted += bytes;
    row(at).told.compacted += bytes;
  }

  void carve(const std::string& what, std::size_t reservation, Bytes bytes, std::vector<Carved>& into) {
    if (reservation >= reservations_.size())
      throw std::invalid_argument(fmt::format("{} of plan '{}' names reservation {} of {}", what, out_.plan,
                                              reservation, reservations_.size()));
    const ReservationRecord* record = state_.reservation(reservations_[reservation]);
    auto kept = layout_.keep(state_, record->spec.at, bytes, record->spec.label);
    if (const auto* refusal = std::get_if<Refusal>(&kept)) {
      fail(std::nullopt, *refusal,
           fmt::format("{} out of '{}': {}", what, record->spec.label, describe(*refusal, state_)));
      return;
    }
    into.push_back({record->spec.at, std::get<Layout::Kept>(kept).piece});
    row(record->spec.at).told.compacted += std::get<Layout::Kept>(kept).compacted;
  }

  Row& row(Location at) {
    for (Row& r : rows_)
      if (r.told.at == at) return r;
    Row fresh;
    fresh.told.at = at;
    if (const Account* a = state_.account(at)) fresh.told.budget = a->budget;
    return rows_.emplace_back(std::move(fresh));
  }

  void note_peak(Location at) {
    const Account* a = state_.account(at);
    if (a == nullptr) return;
    Row& r = row(at);
    if (a->used + a->reserved <= r.told.peak_charged) return;
    r.told.peak_charged = a->used + a->reserved;
    r.at_new_peak = true;
  }

  void capture(Row& r, const Transition* in_flight) {
    if (detail_ == Detail::brief || !r.at_new_peak) return;
    if (detail_ == Detail::budgeted && !r.told.budget) return;
    r.at_new_peak = false;
    const std::size_t most =
        detail_ == Detail::budgeted ? kMostHolders : std::numeric_limits<std::size_t>::max();
    Candidates found = memo_ != nullptr && detail_ == Detail::budgeted
                           ? candidates(state_, r.told.at, most, *memo_)
                           : candidates(state_, r.told.at);
    if (in_flight != nullptr) add_in_flight(r.told.at, *in_flight, found.list);
    tell(std::move(found), most, r.told);
  }

  void add_in_flight(Location at, const Transition& t, std::vector<Candidate>& found) const {
    const HandleId value = value_of(t.action);
    const HandleId sent = t.backing.value_or(value);
    const auto add = [&](HandleId whose, Bytes charged) {
      found.push_back({whose, &state_.record(whose).spec->name, charged, {}});
    };
    if (t.installs() && t.destination == at) add(value, t.charge);
    if (t.temporary != 0 && t.temporary_at() == at) add(sent, t.temporary);
    if (t.staging != 0 && at == Location::pinned_host()) add(sent, t.staging);
  }

  void capture_all(const Transition* in_flight) {
    for (Row& r : rows_) capture(r, in_flight);
  }

  void fail(std::optional<Phase> phase, const Refusal& refusal, std::string reason) {
    out_.feasible = false;
    out_.phase = phase;
    out_.refusal = refusal;
    out_.reason = std::move(reason);
    if (refusal.rule != Refusal::Rule::budget) return;
    Row& r = row(refusal.at);
    r.at_new_peak = true;
    capture(r, nullptr);
  }

  State state_;
  Layout layout_;
  Detail detail_;
  HolderMemo* memo_;
  Explanation out_;
  std::vector<ReservationId> reservations_;
  std::vector<Row> rows_;
};

}  // namespace

const LocationExplanation* Explanation::at(Location location) const {
  for (const LocationExplanation& l : locations)
    if (l.at == location) return &l;
  return nullptr;
}

Bytes Explanation::moved_bytes() const {
  Bytes sum = 0;
  for (const ActionExplanation& a : actions) sum += a.bytes;
  return sum;
}

Bytes Explanation::compacted_bytes() const {
  Bytes sum = 0;
  for (const LocationExplanation& l : locations) sum += l.compacted;
  return sum;
}

Simulation simulate(State state, const Plan& plan, Detail detail) {
  return simulate(std::move(state), Layout(), plan, detail);
}

Simulation simulate(State state, Layout layout, const Plan& plan, Detail detail, HolderMemo* memo) {
  DryRun run(std::move(state), std::move(layout), plan.name, detail,
             plan.reclaim.size() + plan.enter.size() + plan.prefetch.size() + plan.exit.size(), memo);
  run.actions(Phase::reclaim, plan.reclaim);
  run.reserve(plan.reservations);
  run.actions(Phase::enter, plan.enter);
  run.prefetch(plan.prefetch);
  run.body(plan.workspace, plan.produce);
  run.settle_reads(plan.reads);
  run.actions(Phase::exit, plan.exit);
  return run.finish();
}

Simulation simulate(State state, const std::string& name, std::span<const Action> actions, Detail detail) {
  return simulate(std::move(state), Layout(), name, actions, detail);
}

Simulation simulate(State state, Layout layout, const std::string& name, std::span<const Action> actions,
                    Detail detail) {
  DryRun run(std::move(state), std::move(layout), name, detail, actions.size());
  run.actions(Phase::execute, actions);
  return run.finish();
}

Explanation explain(const State& state, const Plan& plan, Detail detail) {
  return simulate(state, plan, detail).explanation;
}

}  // namespace fheres::residency
