#include <algorithm>

#include <fheres/runtime/run_report.hpp>

namespace fheres::runtime {

const char* name(RunStatus status) {
  switch (status) {
    case RunStatus::done:
      return "done";
    case RunStatus::failed:
      return "failed";
    case RunStatus::wrong_result:
      return "wrong-result";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "";
}

Bytes RunReport::moved_bytes() const {
  Bytes total = 0;
  for (const Traffic& item : traffic) total += item.bytes;
  return total;
}

std::int64_t RunReport::stages_ns() const {
  if (stages.empty()) return 0;
  std::int64_t total = stages.back().end_ns - stages.front().start_ns;
  for (const StageRun& stage : stages) total -= stage.check_ns;
  return total;
}

double RunReport::largest_error() const {
  double largest = 0;
  for (const CheckRun& check : checks) largest = std::max(largest, check.largest_error);
  return largest;
}

}  // namespace fheres::runtime
