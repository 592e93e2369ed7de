#pragma once

#include <vector>

#include <fheres/report/finding.hpp>
#include <fheres/runtime/run_report.hpp>

namespace fheres::report {

/// What became of a run's parts, for CI servers: initial placement, each stage, each check of an output. Failed: what
/// failed while running, and a result outside its tolerance; undecided: where the run was interrupted; skipped: what was
/// not reached or not compared.
std::vector<Case> cases_of(const runtime::RunReport& run, const workload::Workload& workload);

}  // namespace fheres::report
