#include <algorithm>
#include <map>
#include <utility>

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

void RunReport::complete(std::span<const residency::TransitionReport> trace) {
  for (StageRun& stage : stages) {
    for (residency::ActionReport& action : stage.report.actions) {
      residency::TransitionReport& item = action.transition;
      if (!item.asynchronous || trace.empty() || item.sequence < trace.front().sequence) continue;
      item = trace[item.sequence - trace.front().sequence];
    }
  }
}

void RunReport::sum_traffic() {
  std::map<std::pair<memory::Location, memory::Location>, Traffic> sums;
  for (const StageRun& stage : stages) {
    for (const residency::ActionReport& action : stage.report.actions) {
      const residency::TransitionReport& item = action.transition;
      if (item.bytes == 0 || !item.destination) continue;
      const memory::Location from = item.source.value_or(*item.destination);
      Traffic& sum =
          sums.try_emplace({from, *item.destination}, Traffic{from, *item.destination, 0, 0}).first->second;
      sum.bytes += item.bytes;
      ++sum.transfers;
    }
  }
  for (const auto& entry : sums) traffic.push_back(entry.second);
}

}  // namespace fheres::runtime
