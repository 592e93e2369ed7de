#include <fheres/workload/check.hpp>

#include "names.hpp"
#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {

CheckedRequests check(const RequestSetDraft& draft) {
  Problems problems;
  WorldCheck check;
  if (draft.world_is_other && !draft.checked_world) return {};
  if (draft.checked_world) {
    check.world = *draft.checked_world;
    for (ValueIndex i = 0; i < check.world.values.size(); ++i) {
      check.names.define(check.world.values[i].name, {check.world.values[i].name.place, i, {}, {}}, problems);
    }
  } else {
    check = check_world(draft.world, problems);
    settle_types(check);
  }
  References references(check.world, check.names, problems);
  RequestSet result;
  std::vector<Name> names;
  for (const RequestDraft& request : draft.requests) {
    names.push_back(request.name);
    RequestEntry entry{request.name, {}, request.reserve};
    references.requirements(request.require, {}, entry.require);
    result.requests.push_back(std::move(entry));
  }
  check_unique(names, "request", problems);
  if (!problems.empty()) return {std::nullopt, problems.take()};
  result.metadata = draft.metadata;
  result.world = std::move(check.world);
  return {std::move(result), {}};
}

}  // namespace fheres::workload
