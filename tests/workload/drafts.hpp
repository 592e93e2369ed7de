#pragma once

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/workload/check.hpp>

// Workloads written in code, for tests of what check makes of them.
namespace fheres::workload::test {

inline ValueDraft value(const std::string& name, ValueKind kind) {
  ValueDraft draft;
  draft.name.text = name;
  draft.kind = kind;
  draft.at = {Location::pageable_host()};
  draft.at_places.resize(1);
  if (kind == ValueKind::ciphertext || kind == ValueKind::plaintext) draft.message = ConstantMessage{0.5};
  if (kind == ValueKind::rotation_key) draft.steps = 1;
  return draft;
}

inline ValueDraft rotation_key(const std::string& name, std::int64_t steps) {
  ValueDraft draft = value(name, ValueKind::rotation_key);
  draft.steps = steps;
  return draft;
}

inline OperationDraft operation(const std::string& result, const std::string& name,
                                const std::vector<std::string>& operands, const std::string& key = "") {
  OperationDraft draft;
  draft.result.text = result;
  draft.operation.text = name;
  for (const std::string& operand : operands) draft.operands.push_back({operand, {}});
  if (!key.empty()) draft.key = Name{key, {}};
  return draft;
}

inline StageDraft stage(const std::string& name, std::vector<OperationDraft> body,
                        const std::vector<std::string>& outputs) {
  StageDraft draft;
  draft.name.text = name;
  draft.at = Location::cuda(0);
  draft.body = std::move(body);
  for (const std::string& output : outputs) draft.outputs.push_back({output, {}});
  return draft;
}

inline Workload good(const WorkloadDraft& draft) {
  CheckedWorkload result = check(draft);
  for (const Problem& problem : result.problems) MESSAGE(problem.code << " " << problem.message);
  REQUIRE(result.workload);
  return std::move(*result.workload);
}

/// Code and message of each problem.
inline std::vector<std::string> problems(const WorkloadDraft& draft) {
  std::vector<std::string> result;
  for (const Problem& problem : check(draft).problems)
    result.push_back(problem.code + ": " + problem.message);
  return result;
}

}  // namespace fheres::workload::test
