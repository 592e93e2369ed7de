#include <set>

#include <fmt/format.h>

#include "expand.hpp"
#include "operation_section.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::PlanDraft;
using workload::StageDraft;

// Their results are laid out in one workspace, which takes time for each pair that lives at once.
constexpr std::size_t kMostOperations = 20'000;

/// `{y: {}, z: {check: false}}` or `[y]`.
void read_outputs(Context& context, const Node& node, StageDraft& stage) {
  if (node.kind != Node::Kind::map) {
    stage.outputs = read_names(context, node, "an output's name");
    return;
  }
  for (const Node::Entry& entry : node.entries) {
    if (entry.value->kind != Node::Kind::null) {
      MapReader map(context, *entry.value, "an output");
      if (const Node* check = map.get("check")) {
        if (read_choice(context, *check, "check", {"true", "false"}) == 1u) stage.unchecked.insert(entry.key);
      }
      map.finish();
    }
    if (check_name(context, entry.key, entry.place, "an output's name"))
      stage.outputs.push_back({entry.key, entry.place});
  }
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

/// `whole`, `auto`, or how many output limbs at a time.
void read_key_switch(Context& context, const Node& node, StageDraft& stage) {
  stage.key_switch_place = node.place;
  if (node.kind == Node::Kind::scalar && (node.text == "whole" || node.text == "auto")) {
    stage.choose_key_switch = node.text == "auto";
    return;
  }
  if (const auto limbs = read_integer(context, node, "key_switch", 1, 255))
    stage.key_switch_group = static_cast<int>(*limbs);
}

/// `all`, or a list of `form`, `level` and `key_switch`: left to the compiler wherever nothing else is said.
void read_choose(Context& context, const Node& node, workload::WorkloadDraft& draft) {
  const std::vector<std::string> words{"form", "level", "key_switch"};
  std::set<std::size_t> chosen;
  if (node.kind == Node::Kind::scalar) {
    if (read_choice(context, node, "choose", {"all"})) chosen = {0, 1, 2};
  } else {
    for (const auto& item : read_list(context, node, "choose"))
      if (const auto word = read_choice(context, *item, "choose", words)) chosen.insert(*word);
  }
  for (workload::ValueDraft& value : draft.world.values) {
    if (chosen.contains(0) && !value.form_place.known()) value.choose_form = true;
    if (chosen.contains(1) && !value.level) value.choose_level = true;
  }
  for (StageDraft& stage : draft.stages)
    if (chosen.contains(2) && !stage.key_switch_place.known()) stage.choose_key_switch = true;
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
    if (body->items.size() > kMostOperations) {
      context.report(
          "FHR0410", body->place,
          fmt::format("a body has {} operations, expected at most {}", body->items.size(), kMostOperations),
          "a stage's outputs are inputs of the next one: use several");
    } else {
      for (const auto& item : read_list(context, *body, "body")) read_operation(context, *item, stage.body);
    }
  }
  if (const Node* outputs = map.get("outputs")) read_outputs(context, *outputs, stage);
  if (const Node* require = map.get("require")) {
    stage.body_is_given =
        stage.body_is_given || require->kind != Node::Kind::map || !require->entries.empty();
    stage.require = read_requirements(context, *require);
  }
  const Node::Entry* key_switch = map.entry("key_switch");
  if (key_switch) read_key_switch(context, *key_switch->value, stage);
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
  if (stage.choose_key_switch && (stage.reserve || (stage.plan && stage.plan->reserve))) {
    context.report("FHR0113", stage.key_switch_place,
                   "`key_switch: auto` stands beside a list of reservations, which leaves nothing to choose",
                   "`reserve: auto` takes what the choice needs");
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
    expand_items(
        context, *stages, [&](const Node& item) { draft.stages.push_back(read_stage(context, item)); },
        "stages");
    if (stages->kind == Node::Kind::sequence && stages->items.empty()) {
      context.report("FHR0105", stages->place, "stages is empty, expected at least one");
    }
  }
  if (const Node* choose = document.get("choose")) read_choose(context, *choose, draft);
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
