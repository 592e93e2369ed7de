#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/compile/cost.hpp>
#include <fheres/report/json.hpp>
#include <fheres/runtime/run_report.hpp>

namespace fheres::report {

/// The plan that a run executed, and what it promised.
struct PlanContext {
  std::string document;  // as the user named it
  std::string sha256;    // of its bytes
  std::string name;
  Bytes moved_bytes = 0;
  std::string machine;                        // whose times these are; empty: none is known
  std::optional<compile::Forecast> forecast;  // where a machine is known
  std::size_t unknown_operations = 0;         // whose time it does not know, and is guessed
};

/// How long anybody waited for one value to arrive: the device for it (R22), or the host.
struct ValueStall {
  std::string value;
  std::int64_t ns = 0;
  std::size_t waits = 0;
};
/// The longest first; values that nobody waited for are not there.
std::vector<ValueStall> stalls_by_value(const runtime::RunReport& report);

/// Predicted and measured bytes and time side by side; the forecast's list of stages is empty.
Json plan_json(const runtime::RunReport& report, const PlanContext& plan);
Json forecast_stage_json(const compile::Forecast::Stage& stage);
std::string plan_text(const runtime::RunReport& report, const PlanContext& plan);

}  // namespace fheres::report
