#pragma once

#include <optional>
#include <string>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/report/plan_json.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

#include "options.hpp"

namespace fheres::cli {

/// A workload that a Plan document places, and what the plan promises.
struct PlannedRun {
  workload::Workload workload;
  report::PlanContext plan;
};

/// The files of a planned run; without `machine`, the plan's or the workload's own machine predicts its time.
struct PlanFiles {
  std::string workload, plan, machine;
  std::string workload_sha256;  // of the workload's text as it was read
};

/// Why a plan is not of this version of the workload, where it is not.
std::optional<documents::Diagnostic> stale(const workload::Program& program, const std::string& workload_file,
                                           const std::string& sha256);

/// Reads the plan of a `run`, and refuses one of another version of the workload, or of another workload. What is wrong
/// is told as load_or_report tells it, and nothing comes back.
std::optional<PlannedRun> follow_plan(const workload::Workload& workload, const PlanFiles& files,
                                      const PlanningOptions& planning, const CommonOptions& common);

/// The workload of a document in the variants that a plan of it names, where `plan` is a file; what is wrong with either
/// goes to stderr, and nothing comes back.
std::optional<workload::Workload> load_in_variants(const std::string& file, const std::string& plan,
                                                   const PlanningOptions& planning,
                                                   const CommonOptions& common);

}  // namespace fheres::cli
