#pragma once

#include <string>
#include <vector>

#include <fheres/compile/compile.hpp>
#include <fheres/report/finding.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

/// `fheres/compilation/v1`: the answer, the evidence, and every way that was tried. `plan`: where the Plan was written.
Json compile_json(const compile::Outcome& outcome, const std::string& name, const std::string& file,
                  const std::string& plan);
/// A short table of the ways that were tried, what cannot hold together, and a last line that says it all.
std::string compile_text(const compile::Outcome& outcome, const std::string& name, const std::string& plan);
/// One case for initial placement and one for each stage, of `stages`. They pass where there is a plan. Infeasible: that of
/// which it is proven fails, with the reason at `document` (or its own place) and a finding at each line that cannot hold
/// together with the others; the rest is skipped. Inconclusive: a case for the plan as a whole is undecided.
std::vector<Case> compile_cases(const compile::Outcome& outcome, const std::vector<Part>& stages,
                                const workload::Place& document);

Json to_json(const workload::Evidence& evidence);
/// `3.1% over the lower bound`, `proven optimal`.
std::string gap_text(const workload::Evidence& evidence);

}  // namespace fheres::report
