#include <cmath>

#include <fmt/format.h>

#include "sections.hpp"

namespace fheres::documents {
namespace {

std::uint64_t read_count(Context& context, const Node* node, const char* what) {
  return node != nullptr ? read_unsigned(context, *node, what).value_or(0) : 0;
}

/// `{cuda:0: {bytes: 123, stage: tile-3}}`.
void read_peaks(Context& context, const Node& node, workload::Evidence& evidence) {
  if (node.kind != Node::Kind::map)
    context.report("FHR0106", node.place, "peaks is no map, expected one from a location to its peak");
  for (const Node::Entry& entry : node.entries) {
    const auto at = read_location(context, entry.key, entry.place);
    MapReader map(context, *entry.value, "a peak");
    workload::PeakEvidence peak;
    if (const Node* bytes = map.need("bytes")) peak.bytes = read_bytes(context, *bytes).value_or(0);
    if (const Node* stage = map.get("stage")) peak.stage = read_text(context, *stage, "stage").value_or("");
    map.finish();
    if (!at) continue;
    peak.at = *at;
    evidence.peaks.push_back(std::move(peak));
  }
}

workload::TimeEvidence read_time(Context& context, const Node& node) {
  workload::TimeEvidence time;
  MapReader map(context, node, "time");
  if (const Node* machine = map.need("machine"))
    time.machine = read_text(context, *machine, "machine").value_or("");
  time.predicted_ns = read_count(context, map.need("predicted_ns"), "predicted_ns");
  time.lower_bound_ns = read_count(context, map.need("lower_bound_ns"), "lower_bound_ns");
  map.finish();
  return time;
}

/// `{value: rot1, chosen: seeded, instead: {full: {lower_bound_bytes: 123, moved_bytes: 456}}}`.
workload::VariantEvidence read_variant(Context& context, const Node& node) {
  workload::VariantEvidence item;
  MapReader map(context, node, "a variant");
  const Node* name = map.get("stage");
  if (name != nullptr) {
    item.about = workload::Question::About::stage;
  } else {
    name = map.need("value");
  }
  if (name != nullptr) item.name = read_text(context, *name, "a name").value_or("");
  if (const Node* chosen = map.need("chosen"))
    item.chosen = read_text(context, *chosen, "chosen").value_or("");
  const Node* others = map.get("instead");
  map.finish();
  if (others == nullptr) return item;
  if (others->kind != Node::Kind::map)
    context.report("FHR0106", others->place, "instead is no map, expected one from the other variants");
  for (const Node::Entry& entry : others->entries) {
    workload::VariantEvidence::Instead& other = item.instead.emplace_back();
    other.variant = entry.key;
    MapReader figures(context, *entry.value, "another variant");
    other.lower_bound_bytes = read_count(context, figures.need("lower_bound_bytes"), "lower_bound_bytes");
    if (const Node* moved = figures.get("moved_bytes")) other.moved_bytes = read_bytes(context, *moved);
    if (const Node* ns = figures.get("predicted_ns"))
      other.predicted_ns = read_unsigned(context, *ns, "predicted_ns");
    if (const Node* reason = figures.get("reason"))
      other.reason = read_text(context, *reason, "reason").value_or("");
    figures.finish();
  }
  return item;
}

/// What follows from the two figures stands there for people, and says the same.
void check_claims(Context& context, MapReader& map, const workload::Evidence& evidence) {
  constexpr double kStep = 1e-6;  // of the six decimals that are written
  if (const Node* node = map.get("gap")) {
    const auto claimed = read_real(context, *node, "gap");
    const auto gap = evidence.gap();
    if (claimed && (!gap || std::abs(*gap - *claimed) > kStep))
      context.report("FHR0107", node->place,
                     fmt::format("gap is {}, expected {} from the two figures", *claimed,
                                 gap ? fmt::format("{:.6f}", *gap) : "none"));
  }
  if (const Node* node = map.get("optimal")) {
    const auto word = read_choice(context, *node, "optimal", {"proven", "not proven"});
    if (word && (*word == 0) != evidence.optimal())
      context.report("FHR0107", node->place,
                     fmt::format("optimal is `{}`, expected `{}` from the two figures", node->text,
                                 evidence.optimal() ? "proven" : "not proven"));
  }
}

}  // namespace

workload::Evidence read_evidence(Context& context, const Node& node) {
  workload::Evidence evidence;
  MapReader map(context, node, "evidence");
  if (const Node* method = map.need("method"))
    evidence.method = read_text(context, *method, "method").value_or("");
  if (const Node* minimize = map.need("minimize")) {
    const std::vector<std::string> words{"bytes", "time"};
    evidence.minimize = words[read_choice(context, *minimize, "minimize", words).value_or(0)];
  }
  if (const Node* bytes = map.need("moved_bytes"))
    evidence.moved_bytes = read_bytes(context, *bytes).value_or(0);
  if (const Node* bytes = map.need("lower_bound_bytes"))
    evidence.lower_bound_bytes = read_bytes(context, *bytes).value_or(0);
  check_claims(context, map, evidence);
  if (const Node* bound = map.need("bound")) {
    const std::vector<std::string> words{"lp", "combinatorial"};
    evidence.bound = words[read_choice(context, *bound, "bound", words).value_or(0)];
  }
  evidence.nodes = read_count(context, map.get("nodes"), "nodes");
  evidence.compactions = read_count(context, map.get("compactions"), "compactions");
  if (const Node* bytes = map.get("compacted_bytes"))
    evidence.compacted_bytes = read_bytes(context, *bytes).value_or(0);
  if (const Node* peaks = map.get("peaks")) read_peaks(context, *peaks, evidence);
  if (const Node* time = map.get("time")) evidence.time = read_time(context, *time);
  evidence.selections = read_count(context, map.get("selections"), "selections");
  if (const Node* variants = map.get("variants"))
    for (const auto& item : read_list(context, *variants, "variants"))
      evidence.variants.push_back(read_variant(context, *item));
  map.finish();
  return evidence;
}

}  // namespace fheres::documents
