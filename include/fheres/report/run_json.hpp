#pragma once

#include <string>

#include <fheres/report/json.hpp>
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

/// `fheres/run/v1`. What differs between two runs of one document stands under `timing` and `observed`,
/// but for `expected_version`: state versions also count when a consumer was seen to be done.
Json run_json(const runtime::RunReport& report, const RunContext& context);

}  // namespace fheres::report
