#include <algorithm>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

#include "names.hpp"
#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {
namespace {

/// Before the stage after the one that the world is to be looked at after; before the first where none is named.
Moment run_before(const RequestSetDraft& draft, References& references, Problems& problems) {
  const std::vector<Stage>& stages = draft.checked_workload->stages;
  std::vector<std::string> names;
  for (const Stage& stage : stages) names.push_back(stage.name.text);
  Moment now;
  if (draft.after) {
    const auto found = std::find(names.begin(), names.end(), draft.after->text);
    if (found == names.end()) {
      const std::string near = closest(draft.after->text, names);
      problems.add("FHR0503", draft.after->place,
                   fmt::format("workload `{}` has no stage `{}`", draft.checked_workload->metadata.name.text,
                               draft.after->text),
                   near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      // So that what its stages make is not reported as missing.
      now.stage = stages.size();
    } else {
      now.stage = static_cast<std::size_t>(found - names.begin()) + 1;
    }
  }
  for (std::size_t s = 0; s < now.stage; ++s)
    for (const Operand& gone : stages[s].release) references.mark_released(gone.index, s);
  references.set_stages(std::move(names));
  return now;
}

}  // namespace

CheckedRequests check(const RequestSetDraft& draft) {
  Problems problems;
  WorldCheck check;
  if (draft.world_is_other && !draft.checked_workload) return {};
  if (draft.checked_workload) {
    check.world = draft.checked_workload->world;
    for (ValueIndex i = 0; i < check.world.values.size(); ++i) {
      check.names.define(check.world.values[i].name, {check.world.values[i].name.place, i, {}, {}}, problems);
    }
  } else {
    check = check_world(draft.world, problems);
    settle_types(check);
  }
  References references(check.world, check.names, problems);
  RequestSet result;
  Moment now;
  if (draft.checked_workload) {
    now = run_before(draft, references, problems);
    const std::vector<Stage>& stages = draft.checked_workload->stages;
    result.before.assign(stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(now.stage));
  }
  std::vector<Name> names;
  for (const RequestDraft& request : draft.requests) {
    names.push_back(request.name);
    RequestEntry entry{request.name, {}, request.reserve};
    references.requirements(request.require, now, entry.require);
    result.requests.push_back(std::move(entry));
  }
  check_unique(names, "request", problems);
  if (!problems.empty()) return {std::nullopt, problems.take()};
  result.metadata = draft.metadata;
  result.world = std::move(check.world);
  return {std::move(result), {}};
}

}  // namespace fheres::workload
