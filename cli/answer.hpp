#pragma once

#include <string>

#include <fheres/documents/load.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "exit_code.hpp"
#include "options.hpp"

namespace fheres::cli {

/// The dry run of a document of any kind.
workload::Rehearsal rehearse(const documents::Model& model, const PlanningOptions& planning);
/// 0 feasible, 1 infeasible, 3 inconclusive.
ExitCode exit_code_of(const workload::Rehearsal& rehearsal);
std::string policy_identity(const documents::Model& model);

}  // namespace fheres::cli
