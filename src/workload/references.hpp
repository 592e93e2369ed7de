#pragma once

#include <map>
#include <optional>
#include <vector>

#include <fheres/workload/draft.hpp>
#include <fheres/workload/model.hpp>

#include "names.hpp"

namespace fheres::workload {

/// A point in the run of a document: before the body of a stage, or after it.
struct Moment {
  std::size_t stage = 0;
  bool after_body = false;
};

/// Resolves names where they are used, and reports each use of a name that means nothing there: unknown, a result
/// that was not kept, a value before its stage or after its release.
class References {
 public:
  References(const World& world, const Names& names, Problems& problems)
      : world_(world), names_(names), problems_(problems) {}

  /// Names of the stages, for messages.
  void set_stages(std::vector<std::string> names) { stages_ = std::move(names); }

  std::optional<ValueIndex> managed(const Name& name, Moment moment) const;
  /// What the `operation`-th operation of a stage's body reads.
  std::optional<Operand> operand(const Name& name, std::size_t stage, std::size_t operation) const;
  /// Resolves a value that the stage releases; later uses are refused.
  std::optional<Operand> release(const Name& name, std::size_t stage);

  /// Without a check: a stage that is known to be good released it.
  void mark_released(ValueIndex value, std::size_t stage) { released_in_.emplace(value, stage); }

  std::vector<NamedAction> actions(const std::vector<ActionDraft>& drafts, Moment moment) const;
  /// The same, where only ensures have a meaning.
  std::vector<NamedAction> prefetch(const std::vector<ActionDraft>& drafts, Moment moment) const;
  /// Appends to `require` what is not there yet; a pair that stands twice in `drafts` is reported.
  void requirements(const std::vector<RequirementDraft>& drafts, Moment moment,
                    std::vector<Requirement>& require) const;

 private:
  std::optional<ValueIndex> usable(const Definition& definition, const Name& name, Moment moment) const;

  const World& world_;
  const Names& names_;
  Problems& problems_;
  std::vector<std::string> stages_;
  std::map<ValueIndex, std::size_t> released_in_;
};

}  // namespace fheres::workload
