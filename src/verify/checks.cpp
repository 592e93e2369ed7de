#include <utility>

#include <fheres/verify/checks.hpp>

#include "verify/against_workload.hpp"

namespace fheres::verify {

Verification check(const workload::Program& program, const workload::Workload* workload) {
  Verification result;
  Comparison comparison;
  if (workload != nullptr) comparison = compare(program, *workload);
  result.has_workload = workload != nullptr;
  result.replay = replay(program, comparison.required);
  result.violations = result.replay.violations;
  for (Violation& violation : comparison.violations) result.violations.push_back(std::move(violation));
  return result;
}

}  // namespace fheres::verify
