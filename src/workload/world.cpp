#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <fheres/base/check.hpp>

namespace fheres::workload {
namespace {

class WorldChecker {
 public:
  WorldChecker(const WorldDraft& draft, Problems& problems) : draft_(draft), problems_(problems) {}

  WorldCheck run() {
    make_parameters();
    result_.world.locations = draft_.locations;
    std::stable_sort(result_.world.locations.begin(), result_.world.locations.end(),
                     [](const LocationEntry& a, const LocationEntry& b) { return a.at < b.at; });
    result_.world.peers = draft_.peers;
    result_.world.machine = draft_.machine;
    result_.world.policy = draft_.policy;
    result_.drafts = draft_.values;
    for (const ValueDraft& value : draft_.values) add(value);
    for (ValueIndex i = 0; i < draft_.values.size(); ++i) {
      if (draft_.values[i].seeded || draft_.values[i].compact) add_backing(i);
    }
    for (ValueIndex i = 0; i < draft_.values.size(); ++i) {
      if (draft_.values[i].backing) settle_backing(i);
    }
    check_stable_keys();
    check_secrets();
    return std::move(result_);
  }

 private:
  void make_parameters() {
    if (draft_.parameters) {
      try {
        result_.world.parameters = scheme::Parameters::make(draft_.parameters->literal);
      } catch (const scheme::SecurityError& error) {
        problems_.add("FHR0203", draft_.parameters->place, error.what(),
                      "`security: none` accepts them all the same, and every report says so");
      } catch (const scheme::ParameterError& error) {
        problems_.add("FHR0202", draft_.parameters->place, error.what());
      }
      return;
    }
    if (draft_.parameters_are_bad) return;
    for (const ValueDraft& value : draft_.values) {
      if (value.kind == ValueKind::bytes) continue;
      problems_.add("FHR0204", value.kind_place,
                    fmt::format("`{}` is a {}, and the document has no `parameters`", value.name.text,
                                noun(value.kind)));
      return;
    }
  }

  void add(const ValueDraft& draft) {
    Value value;
    value.name = draft.name;
    value.message = draft.message;
    value.source = draft.source;
    value.file = draft.file;
    value.client_name = draft.name.text;
    value.variant = draft.variant;
    value.priority = draft.priority;
    if (draft.stable_key) value.stable_key = draft.stable_key->text;
    value.at = draft.at;
    std::sort(value.at.begin(), value.at.end());
    value.at.erase(std::unique(value.at.begin(), value.at.end()), value.at.end());
    value.spec.replica_mode =
        draft.exclusive ? residency::ReplicaMode::exclusive : residency::ReplicaMode::replicable;
    value.spec.recoverability = draft.source || draft.backing ? residency::Recoverability::reconstructible
                                                              : residency::Recoverability::must_preserve;
    value.spec.name = draft.name.text;
    check_locations(draft);
    if (draft.kind == ValueKind::bytes) {
      const residency::Recoverability recoverability = value.spec.recoverability;
      value.spec = make_bytes_spec(draft.name.text, draft.bytes, value.spec.replica_mode);
      value.spec.recoverability = recoverability;
    } else if (result_.world.parameters) {
      check_for_parameters(draft);
      if (draft.kind == ValueKind::ciphertext) {
        const int level = draft.level.value_or(0);
        set_type(*result_.world.parameters, type_at(*result_.world.parameters, draft, clamp(level)), value);
      }
    }
    result_.names.define(draft.name, {draft.name.place, result_.world.values.size(), {}, {}}, problems_);
    result_.world.values.push_back(std::move(value));
  }

  /// A seeded key is two values: its half with the seed, which starts where the document says, and the full key, which
  /// is expanded from it where it is used (R66). So is a compact plaintext, with the prepared one.
  void add_backing(ValueIndex index) {
    ValueDraft draft = result_.drafts[index];
    draft.name.text += draft.seeded ? ".seeded" : ".compact";
    draft.backs = index;
    draft.stable_key.reset();
    Value half = result_.world.values[index];
    half.name = draft.name;
    half.spec.name = draft.name.text;
    half.spec.recoverability = residency::Recoverability::must_preserve;
    half.stable_key.reset();
    half.source.reset();
    if (half.at.empty()) half.at = {draft.source.value_or(Location::pageable_host())};
    const ValueIndex own = result_.world.values.size();
    Value& full = result_.world.values[index];
    full.backing = own;
    full.spec.recoverability = residency::Recoverability::reconstructible;
    full.at.clear();
    full.source.reset();
    full.file.reset();
    result_.names.define(draft.name, {draft.name.place, own, {}, {}}, problems_);
    result_.drafts.push_back(std::move(draft));
    result_.world.values.push_back(std::move(half));
  }

  /// What a Plan says of a value that is expanded from another (R66).
  void settle_backing(ValueIndex index) {
    const ValueDraft& draft = draft_.values[index];
    const Definition* found = result_.names.find(*draft.backing, problems_);
    if (!found || !found->value) return;
    if (*found->value == index || draft_.values[*found->value].backing) {
      problems_.add(
          "FHR0505", draft.backing->place,
          fmt::format("`{}` has a backing itself, and one level is all there is", draft.backing->text));
    } else if (draft_.values[*found->value].at.empty()) {
      problems_.add(
          "FHR0505", draft.backing->place,
          fmt::format("`{}` starts nowhere, so nothing can be expanded from it", draft.backing->text));
    }
    result_.world.values[index].backing = *found->value;
  }

  /// Keys and ciphertexts belong together only where one secret made them.
  void check_secrets() {
    const ValueDraft* from_file = nullptr;
    const ValueDraft* made_here = nullptr;
    for (const ValueDraft& draft : draft_.values) {
      if (draft.kind == ValueKind::bytes || draft.kind == ValueKind::plaintext) continue;
      (draft.file ? from_file : made_here) = &draft;
    }
    if (from_file == nullptr || made_here == nullptr) return;
    problems_.add(
        "FHR0314", made_here->name.place,
        fmt::format("`{}` has no file and `{}` has one: a secret of this run would make one of them "
                    "and another secret the other",
                    made_here->name.text, from_file->name.text),
        "name a file for every key and ciphertext, or for none");
  }

  int clamp(int level) const { return std::clamp(level, 0, result_.world.parameters->max_level()); }

  void check_locations(const ValueDraft& draft) {
    if (draft.at.empty() && !draft.at_is_bad && !draft.source && !draft.backing) {
      problems_.add("FHR0310", draft.name.place,
                    fmt::format("`{}` starts nowhere, expected `at:` with a location", draft.name.text));
    }
    for (std::size_t i = 0; i < draft.at.size(); ++i) {
      const auto same =
          std::find(draft.at.begin(), draft.at.begin() + static_cast<std::ptrdiff_t>(i), draft.at[i]);
      if (same != draft.at.begin() + static_cast<std::ptrdiff_t>(i)) {
        problems_.add("FHR0305", draft.at_places[i], fmt::format("{} is listed twice", draft.at[i].name()));
      } else if (i == 1 && draft.exclusive) {
        problems_.add("FHR0304", draft.at_places[i],
                      fmt::format("`{}` is exclusive and starts at {} locations, expected one",
                                  draft.name.text, draft.at.size()),
                      "`replica: replicable` allows several");
      }
    }
  }

  void check_for_parameters(const ValueDraft& draft) {
    const scheme::Parameters& parameters = *result_.world.parameters;
    if (draft.level && (*draft.level < 0 || *draft.level > parameters.max_level())) {
      problems_.add("FHR0307", draft.level_place,
                    fmt::format("level is {}, expected 0 to {}", *draft.level, parameters.max_level()));
    }
    if (draft.kind == ValueKind::rotation_key) {
      const auto slots = static_cast<std::int64_t>(parameters.slots());
      if (draft.steps <= -slots || draft.steps >= slots || draft.steps == 0) {
        problems_.add("FHR0308", draft.steps_place,
                      fmt::format("steps is {}, expected 1 to {} or a negative number as large", draft.steps,
                                  slots - 1));
      }
    }
    if (!draft.message) return;
    if (const auto count = count_of(*draft.message); count && *count > parameters.slots()) {
      problems_.add("FHR0306", draft.message_place,
                    fmt::format("the {} has {} numbers, and there are {} slots",
                                std::holds_alternative<ListMessage>(*draft.message) ? "list" : "file", *count,
                                parameters.slots()));
    }
    const double room = std::log2(static_cast<double>(parameters.q()[0].value)) - parameters.scale_bits();
    const double size = magnitude(*draft.message);
    if (size > 0 && room < 2 + std::log2(size) - 1e-9) {
      problems_.add("FHR0306", draft.message_place,
                    fmt::format("the message reaches {:g}, and {:.0f} bits above the scale hold at most {:g}",
                                size, room, std::exp2(room - 2)));
    }
  }

  void check_stable_keys() {
    std::vector<Name> keys;
    for (const ValueDraft& value : draft_.values) {
      if (value.stable_key) keys.push_back(*value.stable_key);
    }
    check_unique(keys, "stable key", problems_);
  }

  const WorldDraft& draft_;
  Problems& problems_;
  WorldCheck result_;
};

}  // namespace

const char* noun(ValueKind kind) {
  switch (kind) {
    case ValueKind::ciphertext:
      return "ciphertext";
    case ValueKind::plaintext:
      return "plaintext";
    case ValueKind::rotation_key:
      return "rotation key";
    case ValueKind::conjugation_key:
      return "conjugation key";
    case ValueKind::relinearization_key:
      return "relinearization key";
    case ValueKind::bytes:
      return "value of opaque bytes";
  }
  FHERES_CHECK(false);
}

bool is_key(ValueKind kind) {
  return kind == ValueKind::rotation_key || kind == ValueKind::conjugation_key ||
         kind == ValueKind::relinearization_key;
}

scheme::ValueType type_at(const scheme::Parameters& parameters, const ValueDraft& draft, int level,
                          const std::optional<scheme::Scale>& scale) {
  switch (draft.kind) {
    case ValueKind::ciphertext:
      return scheme::ciphertext_type(parameters, level);
    case ValueKind::plaintext:
      return scheme::plaintext_type(
          parameters, level, scale ? *scale : parameters.canonical_scale(level),
          draft.giant_step ? scheme::PlaintextForm::prepared_qp : scheme::PlaintextForm::prepared);
    case ValueKind::rotation_key:
      return scheme::rotation_key_type(parameters, draft.steps, level);
    case ValueKind::conjugation_key:
      return scheme::conjugation_key_type(level);
    case ValueKind::relinearization_key:
      return scheme::relinearization_key_type(level);
    case ValueKind::bytes:
      break;
  }
  FHERES_CHECK(false);
}

bool has_type(const scheme::Parameters& parameters, const ValueDraft& draft) {
  if (draft.kind == ValueKind::bytes) return false;
  return draft.kind != ValueKind::rotation_key ||
         draft.steps % static_cast<std::int64_t>(parameters.slots()) != 0;
}

void set_type(const scheme::Parameters& parameters, const scheme::ValueType& type, Value& value) {
  value.type = type;
  value.spec =
      make_spec(parameters, value.name.text, type, value.spec.replica_mode, value.spec.recoverability);
}

void settle_types(WorldCheck& check) {
  if (!check.world.parameters) return;
  const scheme::Parameters& parameters = *check.world.parameters;
  for (ValueIndex i = 0; i < check.drafts.size(); ++i) {
    const ValueDraft& draft = check.drafts[i];
    if (!has_type(parameters, draft) || check.world.values[i].type) continue;
    const int level = std::clamp(draft.level.value_or(0), 0, parameters.max_level());
    scheme::ValueType type = type_at(parameters, draft, level);
    if (draft.backs) {
      // What is expanded stands before what it is expanded from, so its level is settled.
      const Value& whole = check.world.values[*draft.backs];
      type = draft.compact ? scheme::plaintext_type(parameters, whole.type->level, whole.type->scale,
                                                    scheme::PlaintextForm::compact)
                           : scheme::seeded_form(*whole.type);
      check.world.values[i].turned_back = whole.turned_back;
    }
    set_type(parameters, type, check.world.values[i]);
  }
}

WorldCheck check_world(const WorldDraft& draft, Problems& problems) {
  return WorldChecker(draft, problems).run();
}

void check_exclusive(const std::vector<Requirement>& require, const World& world, Problems& problems) {
  std::map<ValueIndex, Location> seen;
  for (const Requirement& requirement : require) {
    const Value& value = world.values[requirement.value];
    if (value.spec.replica_mode != residency::ReplicaMode::exclusive) continue;
    const auto [found, inserted] = seen.emplace(requirement.value, requirement.at);
    if (inserted || found->second == requirement.at) continue;
    problems.add("FHR0304", requirement.place,
                 fmt::format("`{}` is exclusive and required at {} and at {}", value.name.text,
                             found->second.name(), requirement.at.name()));
  }
}

}  // namespace fheres::workload
