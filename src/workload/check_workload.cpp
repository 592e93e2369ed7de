#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "body_resolver.hpp"
#include "inference.hpp"
#include "names.hpp"
#include "open_draft.hpp"
#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {
namespace {

class WorkloadChecker {
 public:
  explicit WorkloadChecker(const WorkloadDraft& draft)
      : draft_(draft),
        check_(check_world(draft.world, problems_)),
        references_(check_.world, check_.names, problems_),
        bodies_(draft.stages, check_, references_, problems_) {
    stages_.resize(draft.stages.size());
  }

  CheckedWorkload run() {
    std::vector<Name> names;
    std::vector<std::string> texts;
    for (const StageDraft& stage : draft_.stages) {
      names.push_back(stage.name);
      texts.push_back(stage.name.text);
    }
    check_unique(names, "stage", problems_);
    references_.set_stages(std::move(texts));
    for (std::size_t s = 0; s < stages_.size(); ++s) declare(s);
    for (std::size_t s = 0; s < stages_.size(); ++s) resolve(s);
    std::vector<bool> complete(stages_.size());
    if (check_.world.parameters) complete = infer_types(check_, stages_, problems_);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (complete[s] || stages_[s].body.empty()) lay_out_stage(s);
    }
    Checks checks = draft_.checks;
    for (const ExpectationDraft& expectation : draft_.expect) check_expectation(expectation, checks);
    if (!problems_.empty()) return {std::nullopt, problems_.take()};
    return {Workload{draft_.metadata, std::move(check_.world), std::move(stages_), std::move(checks),
                     draft_.seed},
            {}};
  }

 private:
  /// Names first: so a use before the definition is told from a misspelling.
  void declare(std::size_t s) {
    const StageDraft& draft = draft_.stages[s];
    for (std::size_t o = 0; o < draft.body.size(); ++o) {
      const Name& result = draft.body[o].result;
      check_.names.define(result, {result.place, {}, s, o}, problems_);
    }
    for (const Name& output : draft.outputs) {
      const Definition* found = check_.names.look_up(output.text);
      if (!found || found->stage != s || !found->operation) {
        std::vector<std::string> results;
        if (!problems_.many())
          for (const OperationDraft& operation : draft.body) results.push_back(operation.result.text);
        const std::string near = closest(output.text, results);
        problems_.add("FHR0407", output.place,
                      fmt::format("`{}` is no result of this stage's body", output.text),
                      near.empty() ? "" : fmt::format("did you mean `{}`?", near));
        continue;
      }
      if (found->value) {
        problems_.add("FHR0302", output.place, fmt::format("output `{}` is listed twice", output.text));
        continue;
      }
      const ValueIndex index = check_.world.values.size();
      check_.names.at(output.text).value = index;
      Value value;
      value.name = output;
      value.spec.name = output.text;
      value.produced_by = s;
      check_.world.values.push_back(std::move(value));
      stages_[s].outputs.push_back(
          {*found->operation, index, output.place, !draft.unchecked.contains(output.text)});
    }
  }

  void resolve(std::size_t s) {
    const StageDraft& draft = draft_.stages[s];
    Stage& stage = stages_[s];
    stage.name = draft.name;
    stage.at = draft.at;
    stage.key_switch_group = draft.key_switch_group;
    if (draft.body.empty() && draft.require.empty() && !draft.plan && !draft.body_is_given) {
      problems_.add("FHR0405", draft.name.place,
                    "the stage does nothing, expected `body`, `require` or `plan`");
    }
    if (!draft.body.empty() && !draft.at && !draft.at_is_bad) {
      problems_.add("FHR0408", draft.name.place, "the stage has a body, and no `at` where it runs");
    }
    for (std::size_t o = 0; o < draft.body.size(); ++o) stage.body.push_back(bodies_.operation(s, o));
    for (std::size_t i = 0; i < stage.outputs.size(); ++i) stage.body[stage.outputs[i].result].output = i;
    collect_inputs(stage);
    references_.requirements(draft.require, {s, false}, stage.require);
    require_halves(stage);
    if (draft.plan) {
      stage.plan = ManualPlan{references_.actions(draft.plan->reclaim, {s, false}),
                              references_.actions(draft.plan->enter, {s, false}),
                              references_.prefetch(draft.plan->prefetch, {s, false}),
                              references_.actions(draft.plan->exit, {s, true}), draft.plan->place};
    }
    for (const Name& name : draft.release) {
      if (const auto value = references_.release(name, s)) stage.release.push_back(*value);
    }
  }

  /// The halves of seeded keys that are to be there with the whole ones.
  void require_halves(Stage& stage) const {
    for (std::size_t i = 0; i < stage.input_count; ++i) {
      const Requirement& input = stage.require[i];
      const auto& backing = check_.world.values[input.value].backing;
      if (!backing || check_.drafts[input.value].variant != kSeededThere) continue;
      stage.require.push_back({*backing, input.at, input.place});
    }
  }

  void collect_inputs(Stage& stage) {
    if (!stage.at) return;
    std::unordered_set<ValueIndex> known;
    const auto add = [&](const Operand& operand) {
      if (operand.from != Operand::From::value || !known.insert(operand.index).second) return;
      stage.require.push_back({operand.index, *stage.at, operand.place});
    };
    for (const BodyOperation& operation : stage.body) {
      for (const Operand& operand : operation.operands) add(operand);
      if (operation.key) add(*operation.key);
      for (const Operand& key : operation.keys) add(key);
    }
    stage.input_count = stage.require.size();
  }

  void lay_out_stage(std::size_t s) {
    const StageDraft& draft = draft_.stages[s];
    Stage& stage = stages_[s];
    std::vector<LayoutStep> steps;
    for (const BodyOperation& operation : stage.body) {
      LayoutStep step;
      step.result_bytes = scheme::bytes_of(*check_.world.parameters, operation.type);
      step.scratch_bytes = operation.scratch_bytes;
      step.output = operation.output;
      if (operation.turns && operation.turns->first != steps.size()) step.with = operation.turns->first;
      for (const Operand& operand : operation.operands) {
        if (operand.from == Operand::From::result) step.reads.push_back(operand.index);
      }
      steps.push_back(std::move(step));
    }
    stage.layout = lay_out(steps, stage.outputs.size());
    const auto& list = draft.plan && draft.plan->reserve ? draft.plan->reserve : draft.reserve;
    stage.automatic_reserve = !list.has_value();
    if (list) {
      stage.reserve = *list;
      fit_into_list(s);
    } else if (stage.at) {
      for (auto& spec : automatic_reservations(stage.layout, *stage.at)) {
        stage.reserve.push_back({std::move(spec), draft.name.place});
      }
    }
  }

  void check_expectation(const ExpectationDraft& draft, Checks& checks) {
    const Definition* found = check_.names.find(draft.output, problems_);
    if (!found) return;
    if (!found->value || !check_.world.values[*found->value].produced_by) {
      problems_.add("FHR0407", draft.output.place,
                    fmt::format("`{}` is no output of a stage", draft.output.text),
                    found->value ? "" : "list it under that stage's `outputs` to keep it");
      return;
    }
    checks.expect.push_back({*found->value, draft.message, draft.slots, draft.tolerance, draft.output.place});
    if (!check_.world.parameters) return;
    const std::uint64_t slots = check_.world.parameters->slots();
    if (draft.slots && *draft.slots > slots) {
      problems_.add("FHR0107", draft.slots_place,
                    fmt::format("{} slots are expected, and there are {}", *draft.slots, slots));
    }
    if (const auto count = count_of(draft.message); count && *count > slots) {
      problems_.add("FHR0306", draft.message_place,
                    fmt::format("the message has {} numbers, and there are {} slots", *count, slots));
    }
  }

  void fit_into_list(std::size_t s) {
    const StageDraft& draft = draft_.stages[s];
    Stage& stage = stages_[s];
    if (stage.body.empty() || !stage.at) return;
    std::vector<residency::ReservationSpec> specs;
    for (const Reservation& reservation : stage.reserve) specs.push_back(reservation.spec);
    const Place& place = draft.reserve_place.known() ? draft.reserve_place : draft.name.place;
    for (std::string& problem : assign_reservations(stage.layout, specs, *stage.at)) {
      problems_.add("FHR0406", place, std::move(problem),
                    "`reserve: auto` takes exactly what the body needs");
    }
  }

  const WorkloadDraft& draft_;
  Problems problems_;
  WorldCheck check_;
  References references_;
  BodyResolver bodies_;
  std::vector<Stage> stages_;
};

}  // namespace

CheckedWorkload check_as_it_is(const WorkloadDraft& draft) { return WorkloadChecker(draft).run(); }

CheckedWorkload check(const WorkloadDraft& draft) {
  CheckedWorkload checked = check_as_it_is(draft);
  if (checked.workload) ask(draft, *checked.workload);
  return checked;
}

}  // namespace fheres::workload
