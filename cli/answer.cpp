#include "answer.hpp"

#include <fheres/workload/binding.hpp>

namespace fheres::cli {

workload::Rehearsal rehearse(const documents::Model& model, const PlanningOptions& planning) {
  control::DecideOptions options;
  options.search_state_limit = planning.search_state_limit;
  if (const auto* program = std::get_if<workload::Program>(&model)) return workload::rehearse(*program);
  if (const auto* requests = std::get_if<workload::RequestSet>(&model))
    return workload::rehearse(*requests, options);
  return workload::rehearse(std::get<workload::Workload>(model), options);
}

ExitCode exit_code_of(const workload::Rehearsal& rehearsal) {
  switch (rehearsal.answer) {
    case workload::Answer::feasible:
      return ExitCode::done;
    case workload::Answer::infeasible:
      return ExitCode::no;
    case workload::Answer::inconclusive:
      return ExitCode::inconclusive;
  }
  return ExitCode::failed;
}

std::string policy_identity(const documents::Model& model) {
  return std::visit([](const auto& item) { return workload::policy_of(item.world).identity(); }, model);
}

}  // namespace fheres::cli
