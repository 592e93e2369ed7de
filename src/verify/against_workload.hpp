#pragma once

#include <vector>

#include <fheres/verify/violation.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::verify {

/// What of the workload the Program does not say, or says otherwise; and what its bodies need, by the
/// Program's stages and with its values.
struct Comparison {
  std::vector<Violation> violations;
  std::vector<std::vector<workload::Requirement>> required;
};
Comparison compare(const workload::Program& program, const workload::Workload& workload);

}  // namespace fheres::verify
