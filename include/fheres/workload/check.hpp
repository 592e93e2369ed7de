#pragma once

#include <optional>
#include <vector>

#include <fheres/workload/draft.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::workload {

/// Resolves every name, infers every level, scale, domain and byte (scheme::infer), lays out every body, and reports
/// everything that is wrong, not only the first thing. The model is absent exactly when there are problems (or the
/// draft says that part of it could not be read). Says
/// nothing about residency: whether it fits is a question for explain and the controller.
struct CheckedWorkload {
  std::optional<Workload> workload;
  std::vector<Problem> problems;
};
CheckedWorkload check(const WorkloadDraft& draft);

struct CheckedRequests {
  std::optional<RequestSet> requests;
  std::vector<Problem> problems;
};
CheckedRequests check(const RequestSetDraft& draft);

struct CheckedProgram {
  std::optional<Program> program;
  std::vector<Problem> problems;
};
CheckedProgram check(const ProgramDraft& draft);

/// The name of the list that is close enough to `word` to be what was meant, or an empty string.
std::string closest(const std::string& word, const std::vector<std::string>& names);

}  // namespace fheres::workload
