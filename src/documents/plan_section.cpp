#include <array>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::ActionDraft;
using Verb = workload::NamedAction::Verb;

constexpr std::array<std::pair<const char*, Verb>, 3> kVerbs{
    {{"ensure", Verb::ensure}, {"move", Verb::move}, {"drop", Verb::drop}}};

void read_action(Context& context, const Node& node, std::vector<ActionDraft>& actions) {
  MapReader map(context, node, "an action");
  if (!map.valid()) return;
  ActionDraft draft;
  const Node::Entry* verb = nullptr;
  for (const auto& [word, value] : kVerbs) {
    const Node::Entry* found = map.entry(word);
    if (!found) continue;
    if (verb) {
      context.report("FHR0113", found->place,
                     fmt::format("`{}` stands beside `{}`, expected one action", found->key, verb->key));
      return;
    }
    verb = found;
    draft.verb = value;
  }
  std::optional<Name> name;
  std::optional<Location> at;
  if (verb) {
    name = read_name(context, *verb->value, "a value's name");
    if (const Node* node_at = map.need(draft.verb == Verb::move ? "to" : "at"))
      at = read_location(context, *node_at);
    if (draft.verb != Verb::drop) {
      if (const Node* from = map.get("from")) draft.from = read_location(context, *from);
    }
  }
  if (!verb) {
    for (const char* key : {"at", "to", "from"}) map.get(key);
  }
  const auto before = context.diagnostics.size();
  map.finish();
  // A misspelt verb has just been reported as an unknown key.
  if (!verb && context.diagnostics.size() == before) {
    context.report("FHR0105", node.place, "an action has no verb, expected ensure, move or drop");
  }
  if (!name || !at) return;
  draft.value = *name;
  draft.at = *at;
  actions.push_back(std::move(draft));
}

void read_reservation(Context& context, const Node& node, std::vector<workload::Reservation>& reserve) {
  MapReader map(context, node, "a reservation");
  std::optional<Location> at;
  std::optional<Bytes> bytes;
  std::optional<std::string> label;
  if (const Node* found = map.need("at")) at = read_location(context, *found);
  if (const Node* found = map.need("bytes")) bytes = read_charge(context, *found);
  if (const Node* found = map.need("label")) label = read_text(context, *found, "label");
  if (label && label->empty()) {
    context.report("FHR0108", map.get("label")->place, "label is empty");
    label.reset();
  }
  map.finish();
  if (at && bytes && label) reserve.push_back({{*at, *bytes, *label}, node.place});
}

}  // namespace

std::vector<workload::Reservation> read_reservations(Context& context, const Node& node) {
  std::vector<workload::Reservation> reserve;
  for (const auto& item : read_list(context, node, "reserve")) read_reservation(context, *item, reserve);
  return reserve;
}

std::optional<std::vector<workload::Reservation>> read_reserve(Context& context, const Node& node) {
  if (node.kind == Node::Kind::scalar && node.text == "auto") return std::nullopt;
  if (node.kind != Node::Kind::sequence) {
    context.report("FHR0106", node.place,
                   fmt::format("reserve is {}, expected `auto` or a list", kind_of(node)));
    return std::nullopt;
  }
  return read_reservations(context, node);
}

std::vector<workload::RequirementDraft> read_requirements(Context& context, const Node& node) {
  std::vector<workload::RequirementDraft> require;
  if (node.kind != Node::Kind::map) {
    context.report("FHR0106", node.place,
                   fmt::format("require is {}, expected a map from a location to names", kind_of(node)));
  }
  for (const Node::Entry& entry : node.entries) {
    const auto at = read_location(context, entry.key, entry.place);
    for (Name& name : read_names(context, *entry.value, "a value's name")) {
      if (at) require.push_back({std::move(name), *at});
    }
  }
  return require;
}

std::vector<ActionDraft> read_actions(Context& context, const Node& node) {
  std::vector<ActionDraft> actions;
  for (const auto& item : read_list(context, node, "a list of actions")) read_action(context, *item, actions);
  return actions;
}

}  // namespace fheres::documents
