#include "body_resolver.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

namespace fheres::workload {
namespace {

using scheme::KeyUse;
using scheme::Operation;

constexpr std::string_view kRotateMany = "rotate_many";

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (Operation operation : scheme::operations()) names.emplace_back(scheme::name(operation));
  for (const Composite& composite :
       {Composite(SumSlots{}), Composite(Polynomial{}), Composite(LinearTransform{})})
    names.emplace_back(name(composite));
  names.emplace_back(kRotateMany);
  return names;
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  return numbers.size() > kMost ? fmt::format("{} and {} more", text, numbers.size() - kMost) : text;
}

}  // namespace

BodyOperation BodyResolver::operation(std::size_t stage, std::size_t index) {
  const OperationDraft& draft = stages_[stage].body[index];
  BodyOperation result;
  result.result = draft.result;
  result.place = draft.operation.place;
  if (draft.beside_is_bad) return result;
  if (draft.operation.text == kRotateMany) {
    resolve_turn(draft, {stage, index}, result);
    return result;
  }
  if (auto composite = composite_named(draft.operation.text)) {
    resolve_composite(draft, {stage, index}, std::move(*composite), result);
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
  auto operands = resolve_operands(draft, {stage, index}, scheme::operand_count(*operation),
                                   scheme::takes_plaintext(*operation));
  bool good = operands.has_value();
  if (!resolve_key(draft, {stage, index}, *operation, result)) good = false;
  if (draft.scalar) result.scalar = scheme::Scalar{*draft.scalar, {}};
  if (good) result.operands = std::move(*operands);
  return result;
}

/// One of the results of rotate_many. All of them read the same ciphertext, which is there before the first one is.
void BodyResolver::resolve_turn(const OperationDraft& draft, At at, BodyOperation& result) {
  if (!draft.turn) {
    problems_.add("FHR0402", draft.operation.place, "`rotate_many` gives several results, and one is named",
                  "write `- {rotate_many: x, results: {x1: rot1, x2: rot2}}`, each result with its key");
    return;
  }
  const std::vector<OperationDraft>& body = stages_[at.stage].body;
  BodyOperation::Turns turns{at.operation - *draft.turn, 0};
  while (turns.first + turns.count < body.size() && body[turns.first + turns.count].turn == turns.count)
    ++turns.count;
  result.turns = turns;
  At first = at;
  first.operation = turns.first;
  result.operation = Operation::rotate;
  if (draft.key) {
    // A conjugation shares the decomposition as well as a rotation does.
    const Definition* key = check_.names.look_up(draft.key->text);
    if (key && key->value && *key->value < check_.drafts.size() &&
        check_.drafts[*key->value].kind == ValueKind::conjugation_key)
      result.operation = Operation::conjugate;
  }
  auto operands = resolve_operands(draft, first, 1, false);
  bool good = operands.has_value();
  if (!resolve_key(draft, first, result.operation, result)) good = false;
  if (good) result.operands = std::move(*operands);
}

std::optional<std::vector<Operand>> BodyResolver::resolve_operands(const OperationDraft& draft, At at,
                                                                   int count, bool plain_second) {
  bool good = true;
  std::vector<Operand> operands;
  if (static_cast<int>(draft.operands.size()) != count) {
    problems_.add("FHR0402", draft.operation.place,
                  fmt::format("`{}` has {} operand{}, expected {}", draft.operation.text,
                              draft.operands.size(), draft.operands.size() == 1 ? "" : "s", count));
    good = false;
  }
  for (std::size_t i = 0; i < draft.operands.size(); ++i) {
    const Name& name = draft.operands[i];
    const auto operand = references_.operand(name, at.stage, at.operation);
    const bool plain = i == 1 && plain_second;
    if (!operand || !is_kind(*operand, plain ? ValueKind::plaintext : ValueKind::ciphertext, name) ||
        (plain && !is_used_so(*operand, {}, name))) {
      good = false;
    } else {
      operands.push_back(*operand);
    }
  }
  return good ? std::optional(std::move(operands)) : std::nullopt;
}

void BodyResolver::resolve_composite(const OperationDraft& draft, At at, Composite composite,
                                     BodyOperation& result) {
  auto operands = resolve_operands(draft, at, 1, false);
  bool good = operands.has_value();
  std::vector<Operand> diagonals;
  if (auto* sum = std::get_if<SumSlots>(&composite)) {
    good = resolve_sum(draft, *sum, result) && good;
  } else if (auto* polynomial = std::get_if<Polynomial>(&composite)) {
    good = resolve_polynomial(draft, at, *polynomial, result) && good;
  } else {
    good = resolve_transform(draft, at, std::get<LinearTransform>(composite), result, diagonals) && good;
  }
  result.composite = std::move(composite);
  if (!good) return;
  result.operands = std::move(*operands);
  result.operands.insert(result.operands.end(), diagonals.begin(), diagonals.end());
}

bool BodyResolver::resolve_sum(const OperationDraft& draft, SumSlots& sum, BodyOperation& result) {
  bool good = finds_its_keys(draft);
  sum.count = draft.count.value_or(check_.world.parameters ? check_.world.parameters->slots() : 0);
  // A count that the slots do not allow is refused with its figures when types are inferred.
  const std::uint64_t last = check_.world.parameters ? check_.world.parameters->slots() : sum.count;
  std::vector<std::int64_t> turns;
  for (std::uint64_t steps = 1; steps < std::min(sum.count, last); steps *= 2)
    turns.push_back(static_cast<std::int64_t>(steps));
  return find_keys(draft, turns, result) && good;
}

bool BodyResolver::resolve_polynomial(const OperationDraft& draft, At at, Polynomial& polynomial,
                                      BodyOperation& result) {
  bool good = true;
  if (!draft.coefficients) {
    problems_.add("FHR0402", draft.operation.place,
                  fmt::format("`{}` has no coefficients", draft.operation.text),
                  "list them beside it, the constant one first: `coefficients: [0.5, 0, 0.25]`");
    good = false;
  }
  polynomial = {draft.coefficients.value_or(std::vector<double>{}), draft.basis};
  if (!draft.key) return good;
  const auto key = references_.operand(*draft.key, at.stage, at.operation);
  if (!key || !is_kind(*key, ValueKind::relinearization_key, *draft.key)) return false;
  result.keys.push_back(*key);
  return good;
}

bool BodyResolver::resolve_transform(const OperationDraft& draft, At at, LinearTransform& transform,
                                     BodyOperation& result, std::vector<Operand>& diagonals) {
  bool good = finds_its_keys(draft);
  if (draft.diagonals.empty()) {
    problems_.add("FHR0402", draft.operation.place,
                  fmt::format("`{}` has no diagonals", draft.operation.text),
                  "name a plaintext for each beside it: `diagonals: {0: d0, 1: d1}`, or `{0..7: d*}`");
    return false;
  }
  if (!check_.world.parameters) return false;
  const auto slots = static_cast<std::int64_t>(check_.world.parameters->slots());
  transform.baby_steps = draft.baby_steps.value_or(0);
  std::map<int, const Name*> names;
  for (const DiagonalDraft& diagonal : draft.diagonals) {
    transform.diagonals.push_back(diagonal.index);
    names.emplace(static_cast<int>((diagonal.index % slots + slots) % slots), &diagonal.value);
  }
  try {
    result.transform = std::make_shared<const scheme::LinearTransform>(
        *check_.world.parameters, transform.diagonals, transform.baby_steps);
  } catch (const scheme::ParameterError& error) {
    problems_.add("FHR0409", draft.operation.place, error.what());
    return false;
  }
  for (const scheme::LinearTransform::Diagonal& diagonal : result.transform->diagonals()) {
    const Name& name = *names.at(diagonal.index);
    const auto operand = references_.operand(name, at.stage, at.operation);
    if (!operand || !is_kind(*operand, ValueKind::plaintext, name) ||
        !is_used_so(*operand, diagonal.giant, name)) {
      good = false;
    } else {
      diagonals.push_back(*operand);
    }
  }
  const std::vector<int> steps = result.transform->rotations();
  return find_keys(draft, {steps.begin(), steps.end()}, result) && good;
}

bool BodyResolver::is_used_so(const Operand& operand, std::optional<int> giant_step, const Name& name) {
  if (operand.from != Operand::From::value) return true;
  const auto [found, first] = plaintext_uses_.emplace(operand.index, PlaintextUse{giant_step, name.place});
  if (first) {
    check_.drafts[operand.index].giant_step = giant_step;
    check_.world.values[operand.index].turned_back = giant_step;
  }
  const std::optional<int> before = found->second.giant_step;
  if (before == giant_step) return true;
  const auto use = [](std::optional<int> giant) {
    return giant ? fmt::format("a diagonal of the giant step {}", *giant) : std::string("no diagonal");
  };
  problems_.add("FHR0409", name.place,
                fmt::format("`{}` is {} here and {}{}, and is encoded for one of them", name.text,
                            use(giant_step), use(before), at_line(found->second.place)),
                "declare another plaintext with the same message");
  return false;
}

bool BodyResolver::is_kind(const Operand& operand, ValueKind expected, const Name& name) {
  ValueKind actual = ValueKind::ciphertext;  // of every result
  if (operand.from == Operand::From::value && operand.index < check_.drafts.size()) {
    actual = check_.drafts[operand.index].kind;
  }
  if (operand.from == Operand::From::value && operand.index < check_.drafts.size() &&
      check_.drafts[operand.index].backs) {
    const ValueDraft& half = check_.drafts[operand.index];
    problems_.add("FHR0303", name.place,
                  half.compact ? fmt::format("`{}` is the compact form of a plaintext, expected `{}` itself",
                                             name.text, check_.drafts[*half.backs].name.text)
                               : fmt::format("`{}` is the seeded half of a key, expected `{}` itself",
                                             name.text, check_.drafts[*half.backs].name.text));
    return false;
  }
  if (actual == expected) return true;
  problems_.add("FHR0303", name.place,
                fmt::format("`{}` is a {}, expected a {}", name.text, noun(actual), noun(expected)));
  return false;
}

bool BodyResolver::resolve_key(const OperationDraft& draft, At at, Operation operation,
                               BodyOperation& result) {
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
  const auto key = references_.operand(*draft.key, at.stage, at.operation);
  if (!key || !is_kind(*key, kind, *draft.key)) return false;
  result.key = key;
  if (!draft.steps || !check_.world.parameters) return true;
  const std::int64_t has = check_.drafts[key->index].steps;
  if (slot_steps(has) == slot_steps(*draft.steps)) return true;
  problems_.add(
      "FHR0403", draft.steps_place,
      fmt::format("the rotation is by {} and key `{}` is for {}", *draft.steps, draft.key->text, has));
  return false;
}

bool BodyResolver::finds_its_keys(const OperationDraft& draft) {
  if (!draft.key) return true;
  problems_.add("FHR0403", draft.key->place,
                fmt::format("`{}` finds its keys by their steps", draft.operation.text));
  return false;
}

std::int64_t BodyResolver::slot_steps(std::int64_t steps) const {
  if (!check_.world.parameters) return steps;
  const auto slots = static_cast<std::int64_t>(check_.world.parameters->slots());
  return (steps % slots + slots) % slots;
}

std::optional<ValueIndex> BodyResolver::key_for(std::int64_t steps) {
  if (!rotation_keys_) {
    rotation_keys_.emplace();
    for (ValueIndex i = 0; i < check_.drafts.size(); ++i) {
      const ValueDraft& value = check_.drafts[i];
      if (value.kind == ValueKind::rotation_key && !value.backs)
        rotation_keys_->emplace(slot_steps(value.steps), i);
    }
  }
  const auto found = rotation_keys_->find(slot_steps(steps));
  return found == rotation_keys_->end() ? std::nullopt : std::optional(found->second);
}

bool BodyResolver::find_key(const OperationDraft& draft, ValueKind kind, BodyOperation& result) {
  if (draft.steps) {
    if (const auto found = key_for(*draft.steps)) {
      result.key = Operand{Operand::From::value, *found, draft.steps_place};
      return true;
    }
    problems_.add(
        "FHR0403", draft.steps_place,
        fmt::format("no rotation key for {} steps is among the values", *draft.steps),
        fmt::format("declare one: `{{rotation_key: {{steps: {}}}, at: pageable-host}}`", *draft.steps));
    return false;
  }
  const auto other = problems_.many()
                         ? check_.drafts.end()
                         : std::ranges::find_if(
                               check_.drafts, [&](const ValueDraft& value) { return value.kind == kind; });
  problems_.add("FHR0403", draft.operation.place,
                fmt::format("`{}` needs a {}, and none is given", draft.operation.text, noun(kind)),
                other == check_.drafts.end()
                    ? fmt::format("declare a {} under `values` and name it with `key:`", noun(kind))
                    : fmt::format("`key: {}` would be one", other->name.text));
  return false;
}

bool BodyResolver::find_keys(const OperationDraft& draft, const std::vector<std::int64_t>& steps,
                             BodyOperation& result) {
  std::vector<std::int64_t> missing;
  for (const std::int64_t step : steps) {
    if (const auto found = key_for(step)) {
      result.keys.push_back({Operand::From::value, *found, draft.operation.place});
    } else {
      missing.push_back(step);
    }
  }
  if (missing.empty()) return true;
  problems_.add("FHR0403", draft.operation.place,
                missing.size() == 1
                    ? fmt::format("no rotation key for {} steps is among the values", missing[0])
                    : fmt::format("no rotation keys for {} steps are among the values", listed(missing)),
                fmt::format("declare {}: `{{rotation_key: {{steps: {}}}, at: pageable-host}}`",
                            missing.size() == 1 ? "one" : "them", missing[0]));
  return false;
}

}  // namespace fheres::workload
