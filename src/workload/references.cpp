#include "references.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "world.hpp"

namespace fheres::workload {

std::optional<ValueIndex> References::usable(const Definition& definition, const Name& name,
                                             Moment moment) const {
  const ValueIndex value = *definition.value;
  if (const auto made = world_.values[value].produced_by) {
    if (stages_.empty()) {
      problems_.add("FHR0309", name.place,
                    fmt::format("`{}` is made by a stage, and no stage has run", name.text));
      return std::nullopt;
    }
    if (*made > moment.stage || (*made == moment.stage && !moment.after_body)) {
      problems_.add("FHR0309", name.place,
                    fmt::format("`{}` is not there yet: stage `{}` makes it", name.text, stages_[*made]));
      return std::nullopt;
    }
  }
  if (const auto released = released_in_.find(value);
      released != released_in_.end() && released->second < moment.stage) {
    problems_.add(
        "FHR0309", name.place,
        fmt::format("`{}` is no longer there: stage `{}` released it", name.text, stages_[released->second]));
    return std::nullopt;
  }
  return value;
}

std::optional<ValueIndex> References::managed(const Name& name, Moment moment) const {
  const Definition* found = names_.find(name, problems_);
  if (!found) return std::nullopt;
  if (!found->value) {
    problems_.add("FHR0309", name.place,
                  fmt::format("`{}` is a result inside stage `{}` and no managed value", name.text,
                              stages_[*found->stage]),
                  "list it under that stage's `outputs` to keep it");
    return std::nullopt;
  }
  return usable(*found, name, moment);
}

std::optional<Operand> References::operand(const Name& name, std::size_t stage, std::size_t operation) const {
  const Definition* found = names_.find(name, problems_);
  if (!found) return std::nullopt;
  if (found->stage == stage && found->operation) {
    if (*found->operation < operation) return Operand{Operand::From::result, *found->operation, name.place};
    problems_.add("FHR0309", name.place,
                  fmt::format("`{}` is used before it is made{}", name.text, at_line(found->place)));
    return std::nullopt;
  }
  const auto value = managed(name, {stage, false});
  if (!value) return std::nullopt;
  return Operand{Operand::From::value, *value, name.place};
}

std::optional<Operand> References::release(const Name& name, std::size_t stage) {
  const auto value = managed(name, {stage, true});
  if (!value) return std::nullopt;
  if (!released_in_.emplace(*value, stage).second) {
    problems_.add("FHR0309", name.place, fmt::format("`{}` is released twice", name.text));
    return std::nullopt;
  }
  return Operand{Operand::From::value, *value, name.place};
}

std::vector<NamedAction> References::actions(const std::vector<ActionDraft>& drafts, Moment moment) const {
  std::vector<NamedAction> result;
  for (const ActionDraft& draft : drafts) {
    if (draft.from == draft.at) {
      problems_.add("FHR0502", draft.value.place,
                    fmt::format("`{}` goes from {} to where it is", draft.value.text, draft.at.name()));
    }
    if (const auto value = managed(draft.value, moment)) {
      result.push_back({draft.verb, *value, draft.at, draft.from, draft.value.place});
    }
  }
  return result;
}

std::vector<NamedAction> References::prefetch(const std::vector<ActionDraft>& drafts, Moment moment) const {
  for (const ActionDraft& draft : drafts) {
    if (draft.verb == NamedAction::Verb::ensure) continue;
    problems_.add("FHR0504", draft.value.place,
                  fmt::format("prefetch {}s `{}`, expected an ensure",
                              draft.verb == NamedAction::Verb::move ? "move" : "drop", draft.value.text));
  }
  return actions(drafts, moment);
}

void References::requirements(const std::vector<RequirementDraft>& drafts, Moment moment,
                              std::vector<Requirement>& require) const {
  std::set<std::pair<ValueIndex, Location>> seen, known;
  for (const Requirement& item : require) known.emplace(item.value, item.at);
  for (const RequirementDraft& draft : drafts) {
    const auto value = managed(draft.value, moment);
    if (!value) continue;
    if (!seen.emplace(*value, draft.at).second) {
      problems_.add("FHR0305", draft.value.place,
                    fmt::format("`{}` is required twice at {}", draft.value.text, draft.at.name()));
      continue;
    }
    if (known.emplace(*value, draft.at).second) require.push_back({*value, draft.at, draft.value.place});
  }
  check_exclusive(require, world_, problems_);
}

}  // namespace fheres::workload
