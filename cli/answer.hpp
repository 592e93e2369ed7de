#pragma once

#include <string>

#include <fheres/documents/load.hpp>
#include <fheres/report/rehearsal_json.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {

/// Prints it piece by piece.
void print(const report::LongAnswer& json);

/// The dry run of a document of any kind.
workload::Rehearsal rehearse(const documents::Model& model, const PlanningOptions& planning);
/// 0 feasible, 1 infeasible, 3 inconclusive.
ExitCode exit_code_of(const workload::Rehearsal& rehearsal);

/// What `explain` and `decide` take.
struct AnswerOptions {
  std::string file;
  std::string baseline;              // empty: none
  std::vector<std::string> devices;  // empty: from specifications alone
  CommonOptions common;
  PlanningOptions planning;
};
void add_answer_options(Command& command, AnswerOptions& options);

/// What makes one of them differ from the other: how it says what the same dry run found.
struct Answer {
  const char* command;
  std::string (*text)(const documents::Model& model, const workload::Rehearsal& rehearsal);
  report::LongAnswer (*json)(const workload::Rehearsal& rehearsal, const std::string& name,
                             const std::string& file);
};
/// Prints a rehearsal in the format that was asked for, held against the baseline where there is one.
ExitCode answer(const Answer& how, const AnswerOptions& options, const documents::Model& model);

}  // namespace fheres::cli
