#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/report/long_answer.hpp>
#include <fheres/report/plan_json.hpp>
#include <fheres/runtime/run_report.hpp>

namespace fheres::report {

/// What a report says of the document and the tool beside the run itself.
struct RunContext {
  std::string tool_version;
  std::string document;               // as the user named it
  std::string document_sha256;        // of its bytes
  std::string name;                   // metadata.name
  std::optional<PlanContext> plan{};  // that was executed, if one was given
};

/// The most that a location was charged in a run.
struct RunPeak {
  memory::Location at = memory::Location::pageable_host();
  std::optional<Bytes> budget{};
  Bytes predicted = 0, measured = 0, allocated = 0;
  std::string stage{};  // the first one with the largest prediction
};
/// In location order.
std::vector<RunPeak> peaks_of(const runtime::RunReport& report);

/// `fheres/run/v1`. A stage's prediction tells its actions and reservations where something else happened than it says, or
/// where the stage is not complete; else what was executed tells the same. What differs between two runs of one document
/// stands under `timing` and `observed`, but for `expected_version`: state versions also count when a consumer was seen to
/// be done. It looks into the report and the context.
LongAnswer run_json(const runtime::RunReport& report, const RunContext& context);

}  // namespace fheres::report
