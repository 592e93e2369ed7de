#include <fmt/format.h>

#include "expand.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

/// `{y0: {bytes: 2 MiB, at: cuda:0, from: outputs}}`.
void read_produced(Context& context, const Node& node, std::vector<workload::ProducedDraft>& produce) {
  const Node::Entry* entry = read_single(context, node, "name");
  if (!entry || !check_name(context, entry->key, entry->place, "a value's name")) return;
  workload::ProducedDraft draft;
  draft.name = {entry->key, entry->place};
  MapReader map(context, *entry->value, "a produced value");
  const auto before = context.diagnostics.size();
  if (const Node* bytes = map.need("bytes")) draft.bytes = read_charge(context, *bytes).value_or(0);
  if (const Node* at = map.need("at")) draft.at = read_location(context, *at).value_or(draft.at);
  if (const Node* from = map.need("from")) {
    if (const auto label = read_text(context, *from, "from")) draft.from = {*label, from->place};
  }
  const bool good = context.diagnostics.size() == before;
  map.finish();
  if (good) produce.push_back(std::move(draft));
}

/// `{from: workspace, bytes: 2 MiB}`.
void read_carved(Context& context, const Node& node, std::vector<workload::CarvedDraft>& workspace) {
  MapReader map(context, node, "a block of the body");
  workload::CarvedDraft draft;
  const auto before = context.diagnostics.size();
  if (const Node* bytes = map.need("bytes")) draft.bytes = read_bytes(context, *bytes).value_or(0);
  if (const Node* from = map.need("from")) {
    if (const auto label = read_text(context, *from, "from")) draft.from = {*label, from->place};
  }
  const bool good = context.diagnostics.size() == before;
  map.finish();
  if (good) workspace.push_back(std::move(draft));
}

}  // namespace

workload::ProgramStageDraft read_plan_stage(Context& context, const Node& node) {
  workload::ProgramStageDraft stage;
  MapReader map(context, node, "a stage");
  stage.name.place = node.place;
  if (const Node* name = map.need("name")) {
    if (const auto read = read_name(context, *name, "a stage's name")) stage.name = *read;
  }
  if (const Node* variant = map.get("variant"))
    stage.variant = read_text(context, *variant, "variant").value_or("");
  if (const Node* list = map.get("reclaim")) stage.reclaim = read_actions(context, *list);
  if (const Node* list = map.get("reserve")) stage.reserve = read_reservations(context, *list);
  if (const Node* list = map.get("enter")) stage.enter = read_actions(context, *list);
  if (const Node* list = map.get("prefetch")) stage.prefetch = read_actions(context, *list);
  if (const Node* list = map.get("require")) stage.require = read_requirements(context, *list);
  if (const Node* list = map.get("workspace")) {
    for (const auto& item : read_list(context, *list, "workspace"))
      read_carved(context, *item, stage.workspace);
  }
  if (const Node* list = map.get("produce")) {
    for (const auto& item : read_list(context, *list, "produce"))
      read_produced(context, *item, stage.produce);
  }
  if (const Node* list = map.get("exit")) stage.exit = read_actions(context, *list);
  if (const Node* list = map.get("release")) stage.release = read_names(context, *list, "a value's name");
  map.finish();
  return stage;
}

workload::ProgramDraft read_plan(Context& context, MapReader& document) {
  workload::ProgramDraft draft;
  draft.metadata = read_header(context, document);
  if (const Node* node = document.get("workload")) {
    MapReader map(context, *node, "workload");
    workload::WorkloadReference reference;
    reference.place = node->place;
    if (const Node* file = map.need("file")) reference.file = read_text(context, *file, "file").value_or("");
    if (const Node* hash = map.need("sha256"))
      reference.sha256 = read_text(context, *hash, "sha256").value_or("");
    map.finish();
    draft.workload = std::move(reference);
  }
  draft.world = read_world(context, document, true);
  if (const Node* stages = document.need("stages")) {
    read_list(context, *stages, "stages");
    expand_items(context, *stages,
                 [&](const Node& item) { draft.stages.push_back(read_plan_stage(context, item)); });
    if (stages->kind == Node::Kind::sequence && stages->items.empty()) {
      context.report("FHR0105", stages->place, "stages is empty, expected at least one");
    }
  }
  if (const Node* node = document.get("evidence")) draft.evidence = read_evidence(context, *node);
  document.finish();
  return draft;
}

}  // namespace fheres::documents
