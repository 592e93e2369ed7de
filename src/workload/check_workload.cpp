#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "inference.hpp"
#include "names.hpp"
#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {
namespace {

using scheme::KeyUse;
using scheme::Operation;

class WorkloadChecker {
 public:
  explicit WorkloadChecker(const WorkloadDraft& draft)
      : draft_(draft),
        check_(check_world(draft.world, problems_)),
        references_(check_.world, check_.names, problems_) {
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
      stages_[s].outputs.push_back({*found->operation, index, output.place});
    }
  }

  void resolve(std::size_t s) {
    const StageDraft& draft = draft_.stages[s];
    Stage& stage = stages_[s];
    stage.name = draft.name;
    stage.at = draft.at;
    if (draft.body.empty() && draft.require.empty() && !draft.plan && !draft.body_is_given) {
      problems_.add("FHR0405", draft.name.place,
                    "the stage does nothing, expected `body`, `require` or `plan`");
    }
    if (!draft.body.empty() && !draft.at && !draft.at_is_bad) {
      problems_.add("FHR0408", draft.name.place, "the stage has a body, and no `at` where it runs");
    }
    for (std::size_t o = 0; o < draft.body.size(); ++o) stage.body.push_back(resolve_operation(s, o));
    for (std::size_t i = 0; i < stage.outputs.size(); ++i) stage.body[stage.outputs[i].result].output = i;
    collect_inputs(stage);
    references_.requirements(draft.require, {s, false}, stage.require);
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

  /// Without operands where anything about them was wrong.
  BodyOperation resolve_operation(std::size_t s, std::size_t o) {
    const OperationDraft& draft = draft_.stages[s].body[o];
    BodyOperation result;
    result.result = draft.result;
    result.place = draft.operation.place;
    if (draft.beside_is_bad) return result;
    if (auto composite = composite_named(draft.operation.text)) {
      resolve_composite(s, o, std::move(*composite), result);
      return result;
    }
    const auto operation = scheme::operation_named(draft.operation.text);
    if (!operation) {
      const std::string near = closest(draft.operation.text, operation_names());
      problems_.add("FHR0401", draft.operation.place,
                    fmt::format("there is no operation `{}`", draft.operation.text),
                    near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      return result;
    }
    result.operation = *operation;
    auto operands =
        resolve_operands(s, o, scheme::operand_count(*operation), scheme::takes_plaintext(*operation));
    bool good = operands.has_value();
    if (!resolve_key(s, o, *operation, result)) good = false;
    if (draft.scalar) result.scalar = scheme::Scalar{*draft.scalar, {}};
    if (good) result.operands = std::move(*operands);
    return result;
  }

  /// Nothing, and a problem, where one of them is wrong.
  std::optional<std::vector<Operand>> resolve_operands(std::size_t s, std::size_t o, int count,
                                                       bool plain_second) {
    const OperationDraft& draft = draft_.stages[s].body[o];
    bool good = true;
    std::vector<Operand> operands;
    if (static_cast<int>(draft.operands.size()) != count) {
      problems_.add("FHR0402", draft.operation.place,
                    fmt::format("`{}` has {} operand{}, expected {}", draft.operation.text,
                                draft.operands.size(), draft.operands.size() == 1 ? "" : "s", count));
      good = false;
    }
    for (std::size_t i = 0; i < draft.operands.size(); ++i) {
      const auto operand = references_.operand(draft.operands[i], s, o);
      const bool plain = i == 1 && plain_second;
      if (!operand ||
          !is_kind(*operand, plain ? ValueKind::plaintext : ValueKind::ciphertext, draft.operands[i])) {
        good = false;
      } else {
        operands.push_back(*operand);
      }
    }
    return good ? std::optional(std::move(operands)) : std::nullopt;
  }

  /// Rotation keys of a sum are the declared ones for its steps; a polynomial names its key.
  void resolve_composite(std::size_t s, std::size_t o, Composite composite, BodyOperation& result) {
    const OperationDraft& draft = draft_.stages[s].body[o];
    auto operands = resolve_operands(s, o, 1, false);
    bool good = operands.has_value();
    if (auto* sum = std::get_if<SumSlots>(&composite)) {
      if (draft.key) {
        problems_.add("FHR0403", draft.key->place,
                      fmt::format("`{}` finds its keys by their steps", draft.operation.text));
        good = false;
      }
      sum->count = draft.count.value_or(check_.world.parameters ? check_.world.parameters->slots() : 0);
      // A count that the slots do not allow is refused with its figures when types are inferred.
      const std::uint64_t last = check_.world.parameters ? check_.world.parameters->slots() : sum->count;
      for (std::uint64_t steps = 1; steps < std::min(sum->count, last); steps *= 2) {
        BodyOperation found;
        OperationDraft turn = draft;
        turn.steps = static_cast<std::int64_t>(steps);
        turn.steps_place = draft.operation.place;
        if (find_key(turn, ValueKind::rotation_key, found)) {
          result.keys.push_back(*found.key);
        } else {
          good = false;
        }
      }
    } else {
      auto& polynomial = std::get<Polynomial>(composite);
      if (!draft.coefficients) {
        problems_.add("FHR0402", draft.operation.place,
                      fmt::format("`{}` has no coefficients", draft.operation.text),
                      "list them beside it, the constant one first: `coefficients: [0.5, 0, 0.25]`");
        good = false;
      }
      polynomial = {draft.coefficients.value_or(std::vector<double>{}), draft.basis};
      if (draft.key) {
        const auto key = references_.operand(*draft.key, s, o);
        if (!key || !is_kind(*key, ValueKind::relinearization_key, *draft.key)) {
          good = false;
        } else {
          result.keys.push_back(*key);
        }
      }
    }
    result.composite = std::move(composite);
    if (good) result.operands = std::move(*operands);
  }

  static std::vector<std::string> operation_names() {
    std::vector<std::string> names;
    for (Operation operation : scheme::operations()) names.emplace_back(scheme::name(operation));
    for (const Composite& composite : {Composite(SumSlots{}), Composite(Polynomial{})})
      names.emplace_back(name(composite));
    return names;
  }

  bool is_kind(const Operand& operand, ValueKind expected, const Name& name) {
    ValueKind actual = ValueKind::ciphertext;  // of every result
    if (operand.from == Operand::From::value && operand.index < check_.drafts.size()) {
      actual = check_.drafts[operand.index].kind;
    }
    if (operand.from == Operand::From::value && operand.index < check_.drafts.size() &&
        check_.drafts[operand.index].backs) {
      const ValueIndex full = *check_.drafts[operand.index].backs;
      problems_.add("FHR0303", name.place,
                    fmt::format("`{}` is the seeded half of a key, expected `{}` itself", name.text,
                                check_.drafts[full].name.text));
      return false;
    }
    if (actual == expected) return true;
    problems_.add("FHR0303", name.place,
                  fmt::format("`{}` is a {}, expected a {}", name.text, noun(actual), noun(expected)));
    return false;
  }

  bool resolve_key(std::size_t s, std::size_t o, Operation operation, BodyOperation& result) {
    const OperationDraft& draft = draft_.stages[s].body[o];
    const KeyUse use = scheme::key_use(operation);
    const ValueKind kind = operation == Operation::rotate      ? ValueKind::rotation_key
                           : operation == Operation::conjugate ? ValueKind::conjugation_key
                                                               : ValueKind::relinearization_key;
    if (use == KeyUse::none) {
      if (!draft.key) return true;
      problems_.add("FHR0403", draft.key->place, fmt::format("`{}` takes no key", draft.operation.text));
      return false;
    }
    if (!draft.key) return use == KeyUse::optional || find_key(draft, kind, result);
    const auto key = references_.operand(*draft.key, s, o);
    if (!key || !is_kind(*key, kind, *draft.key)) return false;
    result.key = key;
    if (!draft.steps || !check_.world.parameters) return true;
    const std::int64_t has = check_.drafts[key->index].steps;
    if (same_steps(has, *draft.steps)) return true;
    problems_.add(
        "FHR0403", draft.steps_place,
        fmt::format("the rotation is by {} and key `{}` is for {}", *draft.steps, draft.key->text, has));
    return false;
  }

  bool same_steps(std::int64_t a, std::int64_t b) const { return turned(a) == turned(b); }

  /// Steps that turn alike are one number.
  std::int64_t turned(std::int64_t steps) const {
    if (!check_.world.parameters) return steps;
    const auto slots = static_cast<std::int64_t>(check_.world.parameters->slots());
    return (steps % slots + slots) % slots;
  }

  /// The first declared key for each turn.
  const std::map<std::int64_t, ValueIndex>& rotation_keys() {
    if (rotation_keys_) return *rotation_keys_;
    rotation_keys_.emplace();
    for (ValueIndex i = 0; i < check_.drafts.size(); ++i) {
      if (check_.drafts[i].kind == ValueKind::rotation_key)
        rotation_keys_->emplace(turned(check_.drafts[i].steps), i);
    }
    return *rotation_keys_;
  }

  /// A key that is not named: of a rotation by steps, the declared key for them.
  bool find_key(const OperationDraft& draft, ValueKind kind, BodyOperation& result) {
    if (draft.steps) {
      const auto found = rotation_keys().find(turned(*draft.steps));
      if (found != rotation_keys().end()) {
        result.key = Operand{Operand::From::value, found->second, draft.steps_place};
        return true;
      }
      problems_.add(
          "FHR0403", draft.steps_place,
          fmt::format("no rotation key for {} steps is among the values", *draft.steps),
          fmt::format("declare one: `{{rotation_key: {{steps: {}}}, at: pageable-host}}`", *draft.steps));
    } else {
      const auto any = std::find_if(check_.drafts.begin(), check_.drafts.end(),
                                    [&](const ValueDraft& value) { return value.kind == kind; });
      const std::string other = any == check_.drafts.end() || problems_.many() ? "" : any->name.text;
      problems_.add("FHR0403", draft.operation.place,
                    fmt::format("`{}` needs a {}, and none is given", draft.operation.text, noun(kind)),
                    other.empty()
                        ? fmt::format("declare a {} under `values` and name it with `key:`", noun(kind))
                        : fmt::format("`key: {}` would be one", other));
    }
    return false;
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
  std::vector<Stage> stages_;
  std::optional<std::map<std::int64_t, ValueIndex>> rotation_keys_;
};

}  // namespace

CheckedWorkload check(const WorkloadDraft& draft) { return WorkloadChecker(draft).run(); }

}  // namespace fheres::workload
