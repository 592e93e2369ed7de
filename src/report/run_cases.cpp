#include <algorithm>

#include <fmt/format.h>

#include <fheres/report/run_cases.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
namespace {

constexpr const char* kWrong = "FHR0904";
constexpr const char* kFailed = "FHR0905";
constexpr const char* kInterrupted = "FHR0906";

const workload::Place& place_of(const workload::Workload& workload, const std::string& value) {
  const auto index = workload.world.find(value);
  return index ? workload.world.values[*index].name.place : workload.metadata.name.place;
}

Case case_of(const runtime::CheckRun& check, const workload::Workload& workload) {
  Case item;
  item.name = fmt::format("{} `{}`", check.expected ? "expectation of" : "output", check.value);
  if (!check.skipped.empty()) {
    item.result = Case::Result::skipped;
    item.reason = check.skipped;
  } else if (!check.passed) {
    item.result = Case::Result::failed;
    item.findings = {{kWrong, place_of(workload, check.value),
                      fmt::format("`{}` is wrong: the largest error is {:.1e}, and {:.1e} is allowed",
                                  check.value, check.largest_error, check.tolerance),
                      ""}};
  }
  return item;
}

}  // namespace

std::vector<Case> cases_of(const runtime::RunReport& run, const workload::Workload& workload) {
  std::vector<Case> cases;
  bool stopped = false;
  const auto add = [&](const std::string& name, const workload::Place& place, bool ended_here) {
    Case& item = cases.emplace_back();
    item.name = name;
    if (stopped) {
      item.result = Case::Result::skipped;
      item.reason = "the run ended before";
    } else if (ended_here) {
      const bool interrupted = run.status == runtime::RunStatus::interrupted;
      item.result = interrupted ? Case::Result::undecided : Case::Result::failed;
      item.findings = {{interrupted ? kInterrupted : kFailed, place,
                        fmt::format("{}: {}", run.failure->phase, run.failure->message), ""}};
      stopped = true;
    }
  };
  add("initial placement", workload.metadata.name.place, run.failure && run.failure->stage.empty());
  for (const workload::Stage& stage : workload.stages)
    add(stage.name.text, stage.name.place, run.failure && run.failure->stage == stage.name.text);
  for (const runtime::CheckRun& check : run.checks) cases.push_back(case_of(check, workload));
  return cases;
}

}  // namespace fheres::report
