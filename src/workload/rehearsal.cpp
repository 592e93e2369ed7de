#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <fheres/workload/binding.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::workload {
namespace {

using residency::Refusal;
using residency::State;

/// A simulated manager needs an identity; any one will do, since no handle of it leaves the rehearsal's result.
constexpr residency::ManagerId kRehearsal{1};

/// What a stage's body carves and makes.
struct Body {
  std::vector<residency::Production> produce{};
  std::vector<residency::Workspace> workspace{};
};

class Rehearser {
 public:
  Rehearser(const World& world, const control::DecideOptions& options, const Witness* witness)
      : world_(world),
        witness_(witness),
        options_(world.policy.applied_to(options)),
        policy_(policy_of(world)),
        handles_(world.values.size()),
        result_{
            Answer::feasible,
            {},
            {},
            {},
            {},
            {},
            0,
            0,
            State(witness != nullptr ? witness->manager : kRehearsal, world.budgets(), {}, world.copies()),
            residency::Layout(world.budgets())} {
    for (const auto& [at, budget] : world.budgets()) followed_.push_back(at);
  }

  /// False when a value cannot be where it is said to start.
  bool place_values() {
    for (const ValueIndex index : world_.placement_order()) {
      const Value& value = world_.values[index];
      if (value.produced_by) {
        handles_[index] = result_.state.announce(value.spec);
        describe(value, handles_[index], metadata_);
      } else if (!place_value(index, value)) {
        return false;
      }
    }
    result_.placement = witness_ != nullptr
                            ? witness_->place()
                            : residency::simulate(result_.state, "initial placement", {}).explanation;
    note_peaks(result_.placement, "");
    return true;
  }

  bool run(const control::Request& request, const Place& place, const Body& body) {
    StageRehearsal& stage = add_stage(request.name, place);
    settle_arrivals();
    control::Outcome outcome = witness_ != nullptr
                                   ? witness_->decide(request, policy_, metadata_, options_)
                                   : control::decide(result_.state, request, policy_, metadata_, options_);
    if (auto* infeasible = std::get_if<control::Infeasible>(&outcome)) {
      stage.infeasible = std::move(*infeasible);
      return fail(stage, Answer::infeasible, stage.infeasible->reason);
    }
    if (auto* inconclusive = std::get_if<control::Inconclusive>(&outcome)) {
      stage.inconclusive = std::move(*inconclusive);
      return fail(stage, Answer::inconclusive,
                  fmt::format("the search limit of {} states was reached: {}", stage.inconclusive->limit,
                              stage.inconclusive->detail));
    }
    stage.decision = std::get<control::Decision>(std::move(outcome));
    // A witness's own count of what happened means nothing outside of it.
    stage.decision->expected_version = result_.state.version();
    stage.decision->plan.produce = body.produce;
    stage.decision->plan.workspace = body.workspace;
    if (!run_plan(stage, stage.decision->plan)) return false;
    std::vector<residency::HandleId> used;
    for (const control::Requirement& item : request.require) used.push_back(item.value);
    metadata_.touch(used);
    return true;
  }

  bool run(const residency::Plan& plan, const Place& place, std::span<const Requirement> inputs = {}) {
    return run_plan(add_stage(plan.name, place), plan, inputs);
  }

  bool release(const std::vector<Operand>& values) {
    for (const Operand& operand : values) {
      const residency::Discard discard{handles_[operand.index]};
      for (const residency::ValuePlace& arrival : result_.state.arrivals_in_the_way(discard))
        residency::settle(result_.state, result_.layout, arrival);
      auto outcome = result_.state.apply(discard);
      if (const Refusal* refusal = std::get_if<Refusal>(&outcome)) {
        result_.place = operand.place;
        return fail(result_.stages.back(), Answer::infeasible, residency::describe(*refusal, result_.state));
      }
      for (const Location at : followed_) result_.layout.remove(handles_[operand.index], at);
      if (witness_ != nullptr) witness_->discard(handles_[operand.index]);
      metadata_.forget(handles_[operand.index]);
    }
    return true;
  }

  /// What comes now is a rehearsal of its own, from the state that this stage left.
  void begin_anew(const std::string& stage) {
    result_.stages.clear();
    result_.peaks.clear();
    result_.moved_bytes = result_.compacted_bytes = 0;
    result_.placement = residency::simulate(result_.state, fmt::format("after {}", stage), {}).explanation;
    note_peaks(result_.placement, stage);
  }

  Handles handles() const { return handles_; }
  Rehearsal take() { return std::move(result_); }

 private:
  /// A policy decides on what has arrived, so that its answer does not hang on how fast a copy was.
  void settle_arrivals() {
    // Copies: what is settled leaves the set, and changes the record.
    const BitSet arriving = result_.state.arriving();
    arriving.for_each([&](std::size_t serial) {
      const residency::ValueRecord record = result_.state.records()[serial];
      for (const residency::Materialization& item : record.materializations)
        if (item.arrival) result_.state.settle(result_.state.handle(serial), item.at);
    });
  }

  bool place_value(ValueIndex index, const Value& value) {
    std::vector<Location> rest = value.at;
    std::optional<Refusal> refusal;
    if (value.backing) {
      auto backed = result_.state.register_backed(value.spec, handles_[*value.backing]);
      if (const Refusal* why = std::get_if<Refusal>(&backed)) {
        refusal = *why;
      } else {
        handles_[index] = std::get<residency::HandleId>(backed);
      }
    } else if (value.source) {
      handles_[index] = result_.state.register_source(value.spec, *value.source);
    } else {
      auto adopted = result_.state.adopt(value.spec, rest.front(), value.spec.logical_bytes);
      rest.erase(rest.begin());
      if (const Refusal* why = std::get_if<Refusal>(&adopted)) {
        refusal = *why;
      } else {
        handles_[index] = std::get<residency::HandleId>(adopted);
        refusal = lay_out(handles_[index], value.at.front(), value.spec.logical_bytes);
      }
    }
    for (const Location at : rest) {
      if (refusal) break;
      const residency::Action action = residency::Ensure{handles_[index], at, {}};
      residency::Simulation next =
          residency::simulate(std::move(result_.state), std::move(result_.layout), "initial placement",
                              std::span(&action, 1), residency::Detail::brief);
      result_.state = std::move(next.state);
      result_.layout = std::move(next.layout);
      result_.compacted_bytes += next.explanation.compacted_bytes();
      note_peaks(next.explanation, "");  // what was charged only meanwhile counts too (R25)
      refusal = next.explanation.refusal;
    }
    if (refusal) {
      result_.placement = residency::simulate(result_.state, "initial placement", {}).explanation;
      note_peaks(result_.placement, "");
      result_.answer = Answer::infeasible;
      result_.place = value.name.place;
      result_.reason = fmt::format("initial placement of {}: {}", value.name.text,
                                   residency::describe(*refusal, result_.state));
      return false;
    }
    describe(value, handles_[index], metadata_);
    return true;
  }

  /// The block of a value that starts here.
  std::optional<Refusal> lay_out(residency::HandleId value, Location at, Bytes bytes) {
    auto placed = result_.layout.place(result_.state, value, at, bytes);
    if (auto* refusal = std::get_if<Refusal>(&placed)) return std::move(*refusal);
    result_.compacted_bytes += std::get<Bytes>(placed);
    return std::nullopt;
  }

  StageRehearsal& add_stage(const std::string& name, const Place& place) {
    StageRehearsal& stage = result_.stages.emplace_back();
    stage.name = name;
    stage.place = place;
    return stage;
  }

  /// `inputs`: what the body reads, which a plan written by hand may have forgotten.
  bool run_plan(StageRehearsal& stage, const residency::Plan& plan,
                std::span<const Requirement> inputs = {}) {
    residency::Simulation simulation =
        residency::simulate(result_.state, result_.layout, plan, residency::Detail::budgeted, &memo_);
    stage.explanation = witness_ != nullptr ? witness_->run(plan) : std::move(simulation.explanation);
    note_peaks(stage.explanation, stage.name);
    if (!stage.explanation.feasible) return fail(stage, Answer::infeasible, stage.explanation.reason);
    for (const Requirement& input : inputs) {
      if (is_there(input, stage.explanation)) continue;
      result_.place = input.place;
      return fail(stage, Answer::infeasible,
                  fmt::format("`{}` is not at {} when the body starts, and the plan does not bring it there",
                              world_.values[input.value].name.text, input.at.name()));
    }
    result_.state = std::move(simulation.state);
    result_.layout = std::move(simulation.layout);
    result_.compacted_bytes += stage.explanation.compacted_bytes();
    result_.moved_bytes += stage.explanation.moved_bytes();
    return true;
  }

  /// Whether the value is there between a plan's prefetch and its exit; the state is still the one before the plan.
  bool is_there(const Requirement& input, const residency::Explanation& explanation) const {
    const residency::HandleId value = handles_[input.value];
    bool there = result_.state.record(value).at(input.at) != nullptr;
    for (const residency::ActionExplanation& item : explanation.actions) {
      if (item.phase == residency::Phase::exit) break;
      if (item.no_op || residency::value_of(item.action) != value) continue;
      const bool installs = !std::holds_alternative<residency::Drop>(item.action);
      if (installs && item.destination == input.at) there = true;
      if (!std::holds_alternative<residency::Ensure>(item.action) && item.source == input.at) there = false;
    }
    return there;
  }

  bool fail(StageRehearsal& stage, Answer answer, const std::string& reason) {
    stage.answer = answer;
    result_.answer = answer;
    if (!result_.place.known()) result_.place = stage.place;
    result_.reason = fmt::format("stage {}: {}", stage.name, reason);
    return false;
  }

  void note_peaks(const residency::Explanation& explanation, const std::string& stage) {
    for (const residency::LocationExplanation& location : explanation.locations) {
      auto& peaks = result_.peaks;
      auto found = std::lower_bound(peaks.begin(), peaks.end(), location.at,
                                    [](const Peak& peak, Location at) { return peak.at < at; });
      if (found == peaks.end() || found->at != location.at) {
        found = peaks.insert(found, {location.at, location.budget, 0, stage});
      }
      if (location.peak_charged > found->charged) {
        found->charged = location.peak_charged;
        found->stage = stage;
      }
    }
  }

  const World& world_;
  const Witness* witness_;
  control::DecideOptions options_;
  control::DeterministicTieredLRU policy_;
  control::ValueMetadata metadata_;
  std::vector<residency::HandleId> handles_;
  std::vector<Location> followed_;
  residency::HolderMemo memo_;
  Rehearsal result_;
};

/// False where one of them does not go.
bool run_stages(Rehearser& rehearser, const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) {
    const bool feasible =
        stage.plan ? rehearser.run(plan_of(stage, rehearser.handles()), stage.name.place,
                                   std::span(stage.require).first(stage.input_count))
                   : rehearser.run(request_of(stage, rehearser.handles()), stage.name.place,
                                   {productions_of(stage, rehearser.handles()), workspace_of(stage)});
    if (!feasible || !rehearser.release(stage.release)) return false;
  }
  return true;
}

}  // namespace

Rehearsal rehearse(const Workload& workload, const control::DecideOptions& options, const Witness* witness) {
  Rehearser rehearser(workload.world, options, witness);
  if (rehearser.place_values()) run_stages(rehearser, workload.stages);
  return rehearser.take();
}

Rehearsal rehearse(const Program& program, const Witness* witness) {
  Rehearser rehearser(program.world, {}, witness);
  if (!rehearser.place_values()) return rehearser.take();
  for (const ProgramStage& stage : program.stages) {
    if (!rehearser.run(plan_of(stage, rehearser.handles()), stage.name.place)) break;
    if (!rehearser.release(stage.release)) break;
  }
  return rehearser.take();
}

Rehearsal rehearse(const RequestSet& requests, const control::DecideOptions& options,
                   const Witness* witness) {
  Rehearser rehearser(requests.world, options, witness);
  if (!rehearser.place_values()) return rehearser.take();
  if (!run_stages(rehearser, requests.before)) return rehearser.take();
  if (!requests.before.empty()) rehearser.begin_anew(requests.before.back().name.text);
  for (const RequestEntry& request : requests.requests) {
    if (!rehearser.run(request_of(request, rehearser.handles()), request.name.place, {})) break;
  }
  return rehearser.take();
}

}  // namespace fheres::workload
