#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <fheres/report/plan_json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
namespace {

constexpr std::size_t kListedStalls = 10;

std::string duration(double ns) { return format_duration(ns); }

}  // namespace

std::vector<ValueStall> stalls_by_value(const runtime::RunReport& report) {
  const NameOf names = names_of(report);
  std::map<std::string, ValueStall> sums;
  const auto add = [&](const std::string& value, std::int64_t ns) {
    if (ns <= 0) return;
    ValueStall& sum = sums.try_emplace(value, ValueStall{value, 0, 0}).first->second;
    sum.ns += ns;
    ++sum.waits;
  };
  for (const runtime::StageRun& stage : report.stages) {
    for (const runtime::StallRun& stall : stage.stalls) add(stall.value, stall.end_ns - stall.start_ns);
    for (const residency::ActionReport& action : stage.report.actions)
      add(names(residency::value_of(action.transition.action)), action.transition.stall_ns);
  }
  std::vector<ValueStall> stalls;
  for (const auto& entry : sums) stalls.push_back(entry.second);
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const ValueStall& a, const ValueStall& b) { return a.ns > b.ns; });
  return stalls;
}

Json plan_json(const runtime::RunReport& report, const PlanContext& plan) {
  Json predicted = {{"moved_bytes", plan.moved_bytes},
                    {"machine", plan.machine.empty() ? Json(nullptr) : Json(plan.machine)},
                    {"unknown_operations", plan.unknown_operations}};
  if (plan.forecast) {
    predicted["makespan_ns"] = plan.forecast->makespan_ns;
    predicted["bound_ns"] = plan.forecast->bound_ns;
    predicted["compute_ns"] = plan.forecast->compute_ns;
    predicted["stages"] = Json::array();
  }
  Json stalls = Json::array();
  for (const ValueStall& stall : stalls_by_value(report))
    stalls.push_back({{"value", stall.value}, {"ns", stall.ns}, {"waits", stall.waits}});
  return {{"file", plan.document},
          {"sha256", plan.sha256},
          {"name", plan.name},
          {"predicted", std::move(predicted)},
          {"measured", {{"moved_bytes", report.moved_bytes()}}},
          {"timing", {{"stages_ns", report.stages_ns()}, {"stalls", std::move(stalls)}}}};
}

Json forecast_stage_json(const compile::Forecast::Stage& stage) {
  return {{"name", stage.name},
          {"start_ns", stage.start_ns},
          {"end_ns", stage.end_ns},
          {"compute_ns", stage.compute_ns},
          {"stall_ns", stage.stall_ns}};
}

std::string plan_text(const runtime::RunReport& report, const PlanContext& plan) {
  using Align = Table::Align;
  Table table({{fmt::format("plan {}", plan.name)}, {"predicted", Align::right}, {"measured", Align::right}});
  table.add({"bytes moved", format_bytes(plan.moved_bytes), format_bytes(report.moved_bytes())});
  table.add({"time of all stages", plan.forecast ? duration(plan.forecast->makespan_ns) : "no machine",
             duration(static_cast<double>(report.stages_ns()))});
  if (plan.forecast) table.add({"no placement is faster than", duration(plan.forecast->bound_ns), ""});
  std::string text = table.render();
  if (plan.unknown_operations != 0)
    text += fmt::format("  the times of {} operations are guessed: machine {} does not know them\n",
                        plan.unknown_operations, plan.machine);
  const std::vector<ValueStall> stalls = stalls_by_value(report);
  if (stalls.empty()) return text;
  Table waits({{"waited for"}, {"time", Align::right}, {"waits", Align::right}});
  for (std::size_t i = 0; i < std::min(stalls.size(), kListedStalls); ++i)
    waits.add(
        {stalls[i].value, duration(static_cast<double>(stalls[i].ns)), std::to_string(stalls[i].waits)});
  text += "\n" + waits.render();
  if (stalls.size() > kListedStalls)
    text += fmt::format("  and {} more values\n", stalls.size() - kListedStalls);
  return text;
}

}  // namespace fheres::report
