#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>
#include <fheres/workload/number_file.hpp>

#include "expand.hpp"
#include "sections.hpp"

namespace fheres::documents {
namespace {

using workload::ValueDraft;
using workload::ValueKind;

constexpr std::uint64_t kMostSlots = 1 << 16;  // of the largest parameters

constexpr std::array<std::pair<const char*, ValueKind>, 6> kKinds{{
    {"ciphertext", ValueKind::ciphertext},
    {"plaintext", ValueKind::plaintext},
    {"rotation_key", ValueKind::rotation_key},
    {"conjugation_key", ValueKind::conjugation_key},
    {"relinearization_key", ValueKind::relinearization_key},
    {"bytes", ValueKind::bytes},
}};

void read_double(Context& context, MapReader& map, const char* key, double& value) {
  if (const Node* node = map.get(key)) value = read_real(context, *node, key).value_or(value);
}

std::optional<workload::Message> read_sine(Context& context, const Node& node) {
  workload::SineMessage message;
  MapReader map(context, node, "sine");
  read_double(context, map, "amplitude", message.amplitude);
  read_double(context, map, "step", message.step);
  read_double(context, map, "phase", message.phase);
  map.finish();
  return message;
}

std::optional<workload::Message> read_ramp(Context& context, const Node& node) {
  workload::RampMessage message;
  MapReader map(context, node, "ramp");
  read_double(context, map, "from", message.from);
  read_double(context, map, "to", message.to);
  map.finish();
  return message;
}

/// 0 where there is none.
std::uint64_t read_period(Context& context, MapReader& map) {
  const Node* period = map.get("period");
  if (!period) return 0;
  return static_cast<std::uint64_t>(read_integer(context, *period, "period", 1, 1 << 16).value_or(0));
}

std::optional<workload::Message> read_random(Context& context, const Node& node) {
  workload::RandomMessage message;
  MapReader map(context, node, "random");
  if (const Node* seed = map.need("seed")) message.seed = read_unsigned(context, *seed, "seed").value_or(0);
  read_double(context, map, "low", message.low);
  read_double(context, map, "high", message.high);
  message.period = read_period(context, map);
  map.finish();
  if (map.valid() && !(message.low < message.high)) {
    context.report("FHR0107", node.place,
                   fmt::format("low is {} and high {}, expected low below high", message.low, message.high));
  }
  return message;
}

/// `[1, 2]`, or `{values: [1, 2], period: 32}`.
std::optional<workload::Message> read_list_message(Context& context, const Node& node) {
  workload::ListMessage message;
  const Node* values = &node;
  if (node.kind == Node::Kind::map) {
    MapReader map(context, node, "list");
    values = map.need("values");
    message.period = read_period(context, map);
    map.finish();
    if (!values) return message;
  }
  if (values->kind == Node::Kind::sequence && values->items.empty())
    context.report("FHR0306", values->place, "the list has no numbers, expected one or more");
  for (const auto& item : read_list(context, *values, "list")) {
    message.values.push_back(read_real(context, *item, "a number of the list").value_or(0));
  }
  return message;
}

void read_message_of(Context& context, MapReader& map, ValueDraft& draft) {
  // What a file holds needs no message: with one, results can be checked.
  const Node* node = draft.file ? map.get("message") : map.need("message");
  if (!node) return;
  draft.message = read_message(context, *node);
  draft.message_place = node->place;
  if (node->kind == Node::Kind::map && node->entries.size() == 1)
    draft.message_place = node->entries[0].place;
}

void read_level(Context& context, MapReader& map, bool automatic, ValueDraft& draft) {
  const Node* node = map.get("level");
  if (!node) return;
  draft.level_place = node->place;
  if (automatic && node->kind == Node::Kind::scalar && node->text == "auto") return;
  if (const auto level = read_integer(context, *node, "level", 0, 255))
    draft.level = static_cast<int>(*level);
}

void read_key(Context& context, MapReader& map, ValueDraft& draft) {
  if (draft.kind == ValueKind::rotation_key) {
    if (const Node* steps = map.need("steps")) {
      draft.steps_place = steps->place;
      draft.steps = read_integer(context, *steps, "steps", -(1 << 17), 1 << 17).value_or(1);
    }
  }
  if (const Node* form = map.get("form")) {
    draft.form_place = form->place;
    const auto word = read_choice(context, *form, "form", {"full", "seeded", "auto"});
    draft.seeded = word == 1u;
    draft.choose_form = word == 2u;
  }
  read_level(context, map, true, draft);
}

/// Keys of which there is one: nothing needs to be said about them.
bool is_plain_key(ValueKind kind) {
  return kind == ValueKind::conjugation_key || kind == ValueKind::relinearization_key;
}

void read_kind(Context& context, const Node& node, ValueDraft& draft) {
  if (draft.kind == ValueKind::bytes) {
    draft.bytes = read_charge(context, node).value_or(0);
    return;
  }
  if (is_plain_key(draft.kind) && node.kind == Node::Kind::null) return;
  const std::string what = fmt::format("`{}`", kKinds[static_cast<std::size_t>(draft.kind)].first);
  MapReader map(context, node, what.c_str());
  if (!map.valid()) return;
  if (draft.kind == ValueKind::ciphertext) {
    read_message_of(context, map, draft);
    read_level(context, map, false, draft);
  } else if (draft.kind == ValueKind::plaintext) {
    read_message_of(context, map, draft);
    read_level(context, map, true, draft);
    if (const Node* use = map.get("for")) {
      draft.for_addition = read_choice(context, *use, "for", {"multiply", "add"}) == 1u;
    }
    if (const Node* form = map.get("form")) {
      draft.form_place = form->place;
      const auto word = read_choice(context, *form, "form", {"prepared", "compact", "auto"});
      draft.compact = word == 1u;
      draft.choose_form = word == 2u;
    }
  } else {
    read_key(context, map, draft);
  }
  map.finish();
}

void read_at(Context& context, const Node& node, ValueDraft& draft) {
  const auto add = [&](const Node& item) {
    if (const auto location = read_location(context, item)) {
      draft.at.push_back(*location);
      draft.at_places.push_back(item.place);
    } else {
      draft.at_is_bad = true;
    }
  };
  if (node.kind == Node::Kind::sequence) {
    for (const auto& item : node.items) add(*item);
  } else {
    add(node);
  }
}

void read_source(Context& context, const Node& node, ValueDraft& draft) {
  draft.source_place = node.place;
  MapReader map(context, node, "source");
  if (const Node* file = map.get("file")) {
    // A file is read by the host, and its pages come in as they are touched.
    draft.source = Location::pageable_host();
    if (const Node* at = map.get("at")) draft.source = read_location(context, *at);
    // Named, whatever is wrong with the name: so that a missing message is not reported as well.
    draft.file = "";
    if (const auto path = read_path(context, *file)) draft.file = path->string();
    map.finish();
    if (draft.kind != ValueKind::bytes) return;
    context.report("FHR0113", node.place,
                   fmt::format("`{}` is opaque bytes: no file holds those", draft.name.text));
    return;
  }
  if (const Node* encode = map.need("encode")) read_choice(context, *encode, "encode", {"true"});
  if (const Node* at = map.need("at")) draft.source = read_location(context, *at);
  map.finish();
  if (draft.kind == ValueKind::plaintext) return;
  context.report("FHR0113", node.place,
                 fmt::format("`{}` is no plaintext: only those are encoded again", draft.name.text));
}

/// A Plan says where a value is made again, and not how.
void read_plan_source(Context& context, const Node& node, ValueDraft& draft) {
  draft.source_place = node.place;
  MapReader map(context, node, "source");
  if (const Node* at = map.need("at")) draft.source = read_location(context, *at);
  map.finish();
}

/// Everything of a value but its kind.
void read_common(Context& context, MapReader& map, bool plan, ValueDraft& draft) {
  if (const Node* at = map.get("at")) read_at(context, *at, draft);
  if (const Node* replica = map.get("replica")) {
    draft.exclusive = read_choice(context, *replica, "replica", {"replicable", "exclusive"}) == 1u;
  }
  if (plan) return;
  if (const Node* priority = map.get("priority")) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;
    draft.priority = read_integer(context, *priority, "priority", -kLimit, kLimit).value_or(0);
  }
  if (const Node* key = map.get("stable_key")) draft.stable_key = read_name(context, *key, "stable_key");
}

void read_value(Context& context, const Node::Entry& entry, bool plan, std::vector<ValueDraft>& values) {
  ValueDraft draft;
  draft.name = {entry.key, entry.place};
  if (!check_name(context, entry.key, entry.place, "a value's name")) return;
  const std::string what = fmt::format("value `{}`", entry.key);
  MapReader map(context, *entry.value, what.c_str());
  draft.at_is_bad = !map.valid();
  const Node::Entry* kind = nullptr;
  for (const auto& [word, value] : kKinds) {
    if (plan && value != ValueKind::bytes) continue;
    const Node::Entry* found = map.entry(word);
    if (!found) continue;
    if (kind) {
      context.report("FHR0113", found->place,
                     fmt::format("`{}` stands beside `{}`, expected one kind", found->key, kind->key));
      continue;
    }
    kind = found;
    draft.kind = value;
    draft.kind_place = found->place;
  }
  if (const Node* source = map.get("source")) {
    if (plan) {
      read_plan_source(context, *source, draft);
    } else {
      read_source(context, *source, draft);
    }
  }
  if (plan) {
    if (const Node* backing = map.get("backing")) draft.backing = read_name(context, *backing, "backing");
    if (const Node* variant = map.get("variant"))
      draft.variant = read_text(context, *variant, "variant").value_or("");
  }
  if (kind) {
    read_kind(context, *kind->value, draft);
  } else if (map.valid()) {
    context.report("FHR0105", entry.place,
                   plan ? fmt::format("{} has no `bytes`", what)
                        : fmt::format("{} has no kind, expected ciphertext, plaintext, rotation_key, "
                                      "conjugation_key, relinearization_key or bytes",
                                      what));
  }
  read_common(context, map, plan, draft);
  map.finish();
  if (draft.kind == ValueKind::plaintext && draft.choose_form && draft.source) {
    context.report(
        "FHR0113", draft.form_place,
        fmt::format("`form: auto` of `{}` stands beside `source`, which settles it", draft.name.text));
  }
  // The name exists, whatever is wrong with the rest: so its uses are not reported as well.
  values.push_back(std::move(draft));
}

void read_locations(Context& context, const Node& node, workload::WorldDraft& world) {
  if (node.kind != Node::Kind::map) {
    context.report("FHR0106", node.place, fmt::format("locations is {}, expected a map", kind_of(node)));
    return;
  }
  for (const Node::Entry& entry : node.entries) {
    const auto at = read_location(context, entry.key, entry.place);
    workload::LocationEntry location;
    location.place = entry.place;
    if (entry.value->kind != Node::Kind::null) {
      MapReader map(context, *entry.value, "a location");
      if (const Node* budget = map.get("budget")) location.budget = read_bytes(context, *budget);
      map.finish();
    }
    if (!at) continue;
    location.at = *at;
    world.locations.push_back(std::move(location));
  }
}

/// `{peers: [[cuda:0, cuda:1]]}` and whatever else a Machine says, or the name of a document that says it.
void read_machine(Context& context, const Node& node, workload::WorldDraft& world) {
  workload::Machine machine;
  if (node.kind == Node::Kind::scalar) {
    std::filesystem::path folder;
    const auto root = read_other(context, node, "Machine", folder);
    if (!root) return;
    MapReader document(context, *root, "the document");
    machine = read_machine_document(context, document);
  } else {
    MapReader map(context, node, "machine");
    machine = read_machine_fields(context, map);
    map.finish();
  }
  world.peers = machine.peers;
  // Peers alone settle how copies go, and say nothing of times.
  if (!machine.copies.empty() || !machine.operations.empty())
    world.machine = std::make_shared<const workload::Machine>(std::move(machine));
}

void read_tiers(Context& context, Location source, const Node& node, workload::PolicyEntry& policy) {
  std::vector<Location>& tiers = policy.fallback[source];
  for (const auto& item : read_list(context, node, "a fallback")) {
    const auto tier = read_location(context, *item);
    if (!tier) continue;
    if (*tier == source) {
      context.report("FHR0312", item->place, fmt::format("{} cannot fall back to itself", source.name()));
    } else if (std::find(tiers.begin(), tiers.end(), *tier) != tiers.end()) {
      context.report("FHR0312", item->place, fmt::format("{} is listed twice", tier->name()));
    } else {
      tiers.push_back(*tier);
    }
  }
}

void read_policy(Context& context, const Node& node, workload::PolicyEntry& policy) {
  MapReader map(context, node, "policy");
  if (const Node* fallback = map.get("fallback")) {
    if (fallback->kind != Node::Kind::map) {
      context.report(
          "FHR0106", fallback->place,
          fmt::format("fallback is {}, expected a map from a location to a list", kind_of(*fallback)));
    }
    for (const Node::Entry& entry : fallback->entries) {
      if (const auto at = read_location(context, entry.key, entry.place)) {
        read_tiers(context, *at, *entry.value, policy);
      }
    }
  }
  if (const Node* limit = map.get("search_state_limit")) {
    policy.search_state_limit = static_cast<std::uint64_t>(
        read_integer(context, *limit, "search_state_limit", 1, std::int64_t{1} << 40).value_or(1));
  }
  if (const Node* objective = map.get("objective")) {
    const auto chosen = read_choice(context, *objective, "objective", {"policy", "bytes"});
    if (chosen) policy.objective = *chosen == 1 ? control::Objective::bytes : control::Objective::policy;
  }
  map.finish();
}

/// The numbers are read to know how many and how large they are, and again where they are used.
std::optional<workload::Message> read_file_message(Context& context, const Node& node) {
  const auto path = read_path(context, node);
  if (!path) return std::nullopt;
  const auto [known, fresh] = context.number_files.try_emplace(path->string());
  workload::FileMessage& message = known->second;
  if (fresh) {
    message.path = path->string();
    try {
      for (const double number : workload::read_numbers(*path, kMostSlots)) {
        ++message.count;
        message.magnitude = std::max(message.magnitude, std::abs(number));
      }
    } catch (const FileError& error) {
      context.report("FHR0316", node.place, error.what(),
                     "a message file is .npy, .csv, or raw doubles in .f64");
    }
  }
  if (message.count == 0) return std::nullopt;
  return message;
}

}  // namespace

std::optional<workload::Message> read_message(Context& context, const Node& node) {
  const Node::Entry* entry = read_single(context, node, "message");
  if (!entry) return std::nullopt;
  const Node& value = *entry->value;
  if (entry->key == "constant") {
    const auto number = read_real(context, value, "constant");
    return workload::ConstantMessage{number.value_or(0)};
  }
  if (entry->key == "sine") return read_sine(context, value);
  if (entry->key == "ramp") return read_ramp(context, value);
  if (entry->key == "list") return read_list_message(context, value);
  if (entry->key == "random") return read_random(context, value);
  if (entry->key == "file") return read_file_message(context, value);
  const std::string near =
      workload::closest(entry->key, {"constant", "sine", "ramp", "list", "random", "file"});
  context.report(
      "FHR0111", entry->place,
      fmt::format("`{}` is no message, expected constant, sine, ramp, list, random or file", entry->key),
      near.empty() ? "" : fmt::format("did you mean `{}`?", near));
  return std::nullopt;
}

workload::WorldDraft read_world(Context& context, MapReader& document, bool plan) {
  workload::WorldDraft world;
  if (!plan) {
    if (const Node::Entry* entry = document.entry("parameters")) {
      world.parameters = read_parameters(context, *entry);
      world.parameters_are_bad = !world.parameters;
    }
    if (const Node* node = document.get("policy")) read_policy(context, *node, world.policy);
  }
  if (const Node* node = document.get("locations")) read_locations(context, *node, world);
  if (const Node* node = document.get("machine")) read_machine(context, *node, world);
  if (const Node* node = document.get("values")) {
    if (node->kind != Node::Kind::map) {
      context.report("FHR0106", node->place, fmt::format("values is {}, expected a map", kind_of(*node)));
    }
    expand_entries(context, *node,
                   [&](const Node::Entry& entry) { read_value(context, entry, plan, world.values); });
  }
  return world;
}

}  // namespace fheres::documents
