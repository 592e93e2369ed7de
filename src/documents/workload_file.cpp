#include <fmt/format.h>

#include "expand.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::OperationDraft;
using workload::PlanDraft;
using workload::StageDraft;

/// `multiply_scalar: [x, 0.5]`.
void read_with_scalar(Context& context, const Node::Entry& operation, OperationDraft& draft) {
  const Node& value = *operation.value;
  if (value.kind != Node::Kind::sequence || value.items.size() != 2) {
    context.report("FHR0106", value.place,
                   fmt::format("`{0}` is {1}, expected an operand and a number such as {{{0}: [x, 0.5]}}",
                               operation.key, kind_of(value)));
    draft.beside_is_bad = true;
    return;
  }
  if (auto name = read_name(context, *value.items[0], "an operand's name"))
    draft.operands.push_back(std::move(*name));
  draft.scalar = read_real(context, *value.items[1], "a scalar");
  if (!draft.scalar) draft.beside_is_bad = true;
}

/// `count` beside sum_slots, `coefficients` and `basis` beside polynomial.
void read_beside(Context& context, const Node::Entry& entry, const std::string& operation,
                 OperationDraft& draft) {
  if (operation != (entry.key == "count" ? "sum_slots" : "polynomial")) {
    context.report("FHR0103", entry.place, fmt::format("`{}` takes no {}", operation, entry.key));
  } else if (entry.key == "count") {
    draft.count = read_integer(context, *entry.value, "count", 2, 1 << 16);
    draft.beside_is_bad = draft.beside_is_bad || !draft.count;
  } else if (entry.key == "basis") {
    const auto basis = read_choice(context, *entry.value, "basis", {"power", "chebyshev"});
    if (basis) draft.basis = static_cast<scheme::PolynomialBasis>(*basis);
    draft.beside_is_bad = draft.beside_is_bad || !basis;
  } else {
    draft.coefficients.emplace();
    draft.beside_is_bad = draft.beside_is_bad || entry.value->kind != Node::Kind::sequence;
    for (const auto& item : read_list(context, *entry.value, "coefficients")) {
      const auto value = read_real(context, *item, "a coefficient");
      draft.beside_is_bad = draft.beside_is_bad || !value;
      draft.coefficients->push_back(value.value_or(0));
    }
  }
}

/// `- rotated: {rotate: x, key: rot1}`.
void read_operation(Context& context, const Node& node, std::vector<OperationDraft>& body) {
  const Node::Entry* result = read_single(context, node, "result");
  if (!result || !check_name(context, result->key, result->place, "a result's name")) return;
  OperationDraft draft;
  draft.result = {result->key, result->place};
  const Node& value = *result->value;
  if (value.kind != Node::Kind::map) {
    context.report("FHR0106", value.place,
                   fmt::format("an operation is {}, expected a map such as {{add: [x, y]}}", kind_of(value)));
    return;
  }
  const Node::Entry* operation = nullptr;
  std::vector<const Node::Entry*> beside;
  for (const Node::Entry& entry : value.entries) {
    if (entry.key == "key") {
      draft.key = read_name(context, *entry.value, "a key's name");
    } else if (entry.key == "steps") {
      draft.steps_place = entry.value->place;
      draft.steps = read_integer(context, *entry.value, "steps", -(1 << 17), 1 << 17);
    } else if (entry.key == "count" || entry.key == "coefficients" || entry.key == "basis") {
      beside.push_back(&entry);
    } else if (operation) {
      context.report(
          "FHR0113", entry.place,
          fmt::format("`{}` stands beside `{}`, expected one operation and, where it takes one, `key`",
                      entry.key, operation->key));
    } else {
      operation = &entry;
    }
  }
  if (!operation) {
    context.report("FHR0105", value.place, fmt::format("`{}` has no operation", result->key));
    return;
  }
  draft.operation = {clipped(operation->key), operation->place};
  const auto known = scheme::operation_named(operation->key);
  if (known && scheme::takes_scalar(*known)) {
    read_with_scalar(context, *operation, draft);
  } else {
    draft.operands = read_names(context, *operation->value, "an operand's name");
  }
  if (draft.steps && operation->key != "rotate") {
    context.report("FHR0103", draft.steps_place, fmt::format("`{}` takes no steps", operation->key));
  }
  for (const Node::Entry* entry : beside) read_beside(context, *entry, operation->key, draft);
  body.push_back(std::move(draft));
}

/// `{y: {}}` or `[y]`.
std::vector<Name> read_outputs(Context& context, const Node& node) {
  if (node.kind != Node::Kind::map) return read_names(context, node, "an output's name");
  std::vector<Name> outputs;
  for (const Node::Entry& entry : node.entries) {
    if (entry.value->kind != Node::Kind::null) MapReader(context, *entry.value, "an output").finish();
    if (check_name(context, entry.key, entry.place, "an output's name"))
      outputs.push_back({entry.key, entry.place});
  }
  return outputs;
}

/// A document of plans, read when it is first named; null where it could not be.
std::shared_ptr<const OtherPlan> other_plan(Context& context, const Node& file) {
  const auto known = context.plans.find(file.text);
  if (file.kind == Node::Kind::scalar && known != context.plans.end()) return known->second;
  std::shared_ptr<OtherPlan>& plan = context.plans[file.text];
  std::filesystem::path folder;
  const auto root = read_other(context, file, "Plan", folder);
  if (!root) return nullptr;
  MapReader document(context, *root, "the document");
  plan = std::make_shared<OtherPlan>(OtherPlan{read_plan(context, document), {}});
  for (std::size_t s = 0; s < plan->program.stages.size(); ++s)
    plan->stages.emplace(plan->program.stages[s].name.text, s);
  return plan;
}

/// The plan of a stage in another document: its actions and reservations; what it produces is the body's matter here.
std::optional<PlanDraft> read_plan_of_file(Context& context, MapReader& map, const Place& place) {
  const Node* file = map.need("file");
  const Node* stage = map.need("stage");
  map.finish();
  if (!file || !stage) return std::nullopt;
  const auto name = read_name(context, *stage, "a stage's name");
  const auto plan = other_plan(context, *file);
  if (!plan || !name) return std::nullopt;
  const auto found = plan->stages.find(name->text);
  if (found == plan->stages.end()) {
    context.report("FHR0503", name->place, fmt::format("`{}` has no stage `{}`", file->text, name->text));
    return std::nullopt;
  }
  const workload::ProgramStageDraft& its = plan->program.stages[found->second];
  return PlanDraft{its.reclaim, its.enter, its.prefetch, its.exit, its.reserve, place};
}

std::optional<PlanDraft> read_stage_plan(Context& context, const Node::Entry& entry) {
  MapReader map(context, *entry.value, "plan");
  if (!map.valid()) return std::nullopt;
  if (map.entry("file")) return read_plan_of_file(context, map, entry.place);
  PlanDraft plan;
  plan.place = entry.place;
  if (const Node* list = map.get("reclaim")) plan.reclaim = read_actions(context, *list);
  if (const Node* list = map.get("reserve")) plan.reserve = read_reserve(context, *list);
  if (const Node* list = map.get("enter")) plan.enter = read_actions(context, *list);
  if (const Node* list = map.get("prefetch")) plan.prefetch = read_actions(context, *list);
  if (const Node* list = map.get("exit")) plan.exit = read_actions(context, *list);
  map.finish();
  return plan;
}

StageDraft read_stage(Context& context, const Node& node) {
  StageDraft stage;
  MapReader map(context, node, "a stage");
  stage.name.place = node.place;
  if (const Node* name = map.need("name")) {
    if (const auto read = read_name(context, *name, "a stage's name")) stage.name = *read;
  }
  if (const Node* at = map.get("at")) {
    stage.at = read_location(context, *at);
    if (!stage.at) stage.at_is_bad = true;
  }
  if (const Node* body = map.get("body")) {
    stage.body_is_given = body->kind != Node::Kind::sequence || !body->items.empty();
    for (const auto& item : read_list(context, *body, "body")) read_operation(context, *item, stage.body);
  }
  if (const Node* outputs = map.get("outputs")) stage.outputs = read_outputs(context, *outputs);
  if (const Node* require = map.get("require")) {
    stage.body_is_given =
        stage.body_is_given || require->kind != Node::Kind::map || !require->entries.empty();
    stage.require = read_requirements(context, *require);
  }
  const Node::Entry* reserve = map.entry("reserve");
  if (reserve) {
    stage.reserve = read_reserve(context, *reserve->value);
    stage.reserve_place = reserve->place;
  }
  if (const Node* release = map.get("release"))
    stage.release = read_names(context, *release, "a value's name");
  if (const Node::Entry* plan = map.entry("plan")) {
    stage.body_is_given = true;
    stage.plan = read_stage_plan(context, *plan);
    for (const char* other : {"reserve", "require"}) {
      const Node::Entry* beside = map.entry(other);
      if (!beside) continue;
      context.report("FHR0113", beside->place,
                     fmt::format("`{}` stands beside `plan`, which settles it", other),
                     "move it into the plan");
    }
  }
  map.finish();
  return stage;
}

std::optional<double> read_tolerance(Context& context, MapReader& map) {
  const Node* node = map.get("tolerance");
  if (!node) return std::nullopt;
  const auto tolerance = read_real(context, *node, "tolerance");
  if (tolerance && *tolerance <= 0) {
    context.report("FHR0107", node->place, fmt::format("tolerance is {}, expected more than 0", *tolerance));
    return std::nullopt;
  }
  return tolerance;
}

/// `{y: {message: {constant: 0.5}, slots: 16, tolerance: 1e-3}}`.
void read_expectations(Context& context, const Node& node, std::vector<workload::ExpectationDraft>& expect) {
  if (node.kind != Node::Kind::map) {
    context.report("FHR0106", node.place,
                   fmt::format("expect is {}, expected a map from outputs to messages", kind_of(node)));
  }
  expand_entries(context, node, [&](const Node::Entry& entry) {
    if (!check_name(context, entry.key, entry.place, "an output's name")) return;
    workload::ExpectationDraft draft;
    draft.output = {entry.key, entry.place};
    MapReader map(context, *entry.value, "an expectation");
    std::optional<workload::Message> message;
    if (const Node* given = map.need("message")) {
      message = read_message(context, *given);
      draft.message_place = given->place;
    }
    if (const Node* slots = map.get("slots")) {
      draft.slots_place = slots->place;
      if (const auto count = read_integer(context, *slots, "slots", 1, 1 << 16))
        draft.slots = static_cast<std::uint64_t>(*count);
    }
    draft.tolerance = read_tolerance(context, map);
    map.finish();
    if (!message) return;
    draft.message = std::move(*message);
    expect.push_back(std::move(draft));
  });
}

}  // namespace

workload::WorkloadDraft read_workload(Context& context, MapReader& document) {
  workload::WorkloadDraft draft;
  draft.metadata = read_header(context, document);
  if (const Node* seed = document.get("seed")) draft.seed = read_unsigned(context, *seed, "seed");
  draft.world = read_world(context, document, false);
  if (const Node* stages = document.need("stages")) {
    read_list(context, *stages, "stages");
    expand_items(context, *stages,
                 [&](const Node& item) { draft.stages.push_back(read_stage(context, item)); });
    if (stages->kind == Node::Kind::sequence && stages->items.empty()) {
      context.report("FHR0105", stages->place, "stages is empty, expected at least one");
    }
  }
  if (const Node* checks = document.get("checks")) {
    MapReader map(context, *checks, "checks");
    draft.checks.tolerance = read_tolerance(context, map).value_or(draft.checks.tolerance);
    if (const Node* expect = map.get("expect")) read_expectations(context, *expect, draft.expect);
    map.finish();
  }
  document.finish();
  return draft;
}

}  // namespace fheres::documents
