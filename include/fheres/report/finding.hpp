#pragma once

#include <string>
#include <vector>

#include <fheres/workload/model.hpp>
#include <fheres/workload/place.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::report {

/// Something that is wrong with a document or with what it asks for, at its line: a diagnostic, a stage that does not fit,
/// a violation. Codes are those of documents/diagnostic.hpp.
using Finding = workload::Problem;

/// Codes of answers that are not yes.
inline constexpr const char* kInfeasible = "FHR0901";
inline constexpr const char* kInconclusive = "FHR0902";

/// What became of one part of a document, in its order: a stage, a request, a file.
struct Case {
  enum class Result { passed, failed, undecided, skipped };
  std::string name;
  Result result = Result::passed;
  std::vector<Finding> findings{};  // why: at least one where it failed or is undecided
  std::string reason{};             // why it was skipped
  std::string detail{};             // text for people that says more; may have many lines
};

/// A stage or request as a document names it.
using Part = workload::Name;

/// One case for initial placement and one for each part: passed, failed (infeasible), undecided (the search limit was
/// reached), or skipped because an earlier one did not pass. `document` stands for a reason that has no line of its own.
std::vector<Case> cases_of(const workload::Rehearsal& rehearsal, const std::vector<Part>& parts,
                           const workload::Place& document);
/// The findings of all of them, in order.
std::vector<Finding> findings_of(const std::vector<Case>& cases);

}  // namespace fheres::report
