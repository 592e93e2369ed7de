#include <fmt/format.h>

#include "expand.hpp"
#include "operation_section.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::PlanDraft;
using workload::StageDraft;

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

/// The plan of a stage in another document: its actions and reservations; what it produces is the body's matter here.
std::optional<PlanDraft> read_plan_of_file(Context& context, MapReader& map, const Place& place) {
  const Node* file = map.need("file");
  const Node* stage = map.need("stage");
  map.finish();
  if (!file || !stage) return std::nullopt;
  const auto name = read_name(context, *stage, "a stage's name");
  std::filesystem::path folder;
  const auto root = read_other(context, *file, "Plan", folder);
  if (!root || !name) return std::nullopt;
  MapReader document(context, *root, "the document");
  workload::ProgramDraft program = read_plan(context, document);
  for (workload::ProgramStageDraft& candidate : program.stages) {
    if (candidate.name.text != name->text) continue;
    return PlanDraft{std::move(candidate.reclaim),  std::move(candidate.enter),
                     std::move(candidate.prefetch), std::move(candidate.exit),
                     std::move(candidate.reserve),  place};
  }
  context.report("FHR0503", name->place, fmt::format("`{}` has no stage `{}`", file->text, name->text));
  return std::nullopt;
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
  if (const Node* outputs = map.get("outputs")) read_outputs(context, *outputs, stage);
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
  if (const Node* checks = document.get("checks")) {
    MapReader map(context, *checks, "checks");
    if (const Node* tolerance = map.get("tolerance")) {
      draft.checks.tolerance = read_real(context, *tolerance, "tolerance").value_or(draft.checks.tolerance);
      if (draft.checks.tolerance <= 0) {
        context.report("FHR0107", tolerance->place,
                       fmt::format("tolerance is {}, expected more than 0", draft.checks.tolerance));
      }
    }
    map.finish();
  }
  document.finish();
  return draft;
}

}  // namespace fheres::documents
