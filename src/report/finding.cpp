#include <fheres/report/finding.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
std::vector<Case> cases_of(const workload::Rehearsal& rehearsal, const std::vector<Part>& parts,
                           const workload::Place& document) {
  std::vector<Case> cases;
  const auto stop = [&](Case& item) {
    const bool infeasible = rehearsal.answer == workload::Answer::infeasible;
    item.result = infeasible ? Case::Result::failed : Case::Result::undecided;
    item.findings = {{infeasible ? kInfeasible : kInconclusive,
                      rehearsal.place.known() ? rehearsal.place : document, rehearsal.reason, ""}};
    item.detail = rehearsal_text(rehearsal, /*brief=*/true);
  };
  Case& placement = cases.emplace_back();
  placement.name = "initial placement";
  bool stopped = rehearsal.answer != workload::Answer::feasible && rehearsal.stages.empty();
  if (stopped) stop(placement);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Case& item = cases.emplace_back();
    item.name = parts[i].text;
    if (stopped) {
      item.result = Case::Result::skipped;
      item.reason = "an earlier stage did not pass";
      continue;
    }
    // A release after a feasible last stage may be what is refused.
    stopped = rehearsal.answer != workload::Answer::feasible && i + 1 == rehearsal.stages.size();
    if (stopped) stop(item);
  }
  return cases;
}

std::vector<Finding> findings_of(const std::vector<Case>& cases) {
  std::vector<Finding> findings;
  for (const Case& item : cases) {
    findings.insert(findings.end(), item.findings.begin(), item.findings.end());
  }
  return findings;
}

}  // namespace fheres::report
