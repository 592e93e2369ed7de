#include <fmt/format.h>

#include <fheres/report/machine_json.hpp>
#include <fheres/report/table.hpp>

namespace fheres::report {
namespace {

double rate(const workload::CopyPoint& point) {
  return point.ns > 0 ? static_cast<double>(point.bytes) * 1e9 / point.ns : 0;
}

}  // namespace

Json machine_json(const workload::Machine& machine) {
  Json copies = Json::array(), operations = Json::array(), peers = Json::array();
  for (const auto& [a, b] : machine.peers) peers.push_back({a.name(), b.name()});
  for (const workload::CopyTimes& times : machine.copies) {
    Json points = Json::array();
    for (const workload::CopyPoint& point : times.points)
      points.push_back({{"bytes", point.bytes}, {"ns", point.ns}, {"bytes_per_second", rate(point)}});
    copies.push_back({{"from", workload::name(times.from)},
                      {"to", workload::name(times.to)},
                      {"points", std::move(points)}});
  }
  for (const workload::OperationTimes& times : machine.operations) {
    Json levels = Json::array();
    for (const workload::LevelTime& point : times.points)
      levels.push_back({{"level", point.level}, {"ns", point.ns}});
    operations.push_back(
        {{"parameters", times.parameters}, {"operation", times.operation}, {"levels", std::move(levels)}});
  }
  return {{"schema", "fheres/machine/v1"},
          {"name", machine.name},
          {"device", machine.device},
          {"granularity", machine.granularity},
          {"peers", std::move(peers)},
          {"observed",
           {{"full_duplex", machine.full_duplex},
            {"expansion_bytes_per_second", machine.expansion ? Json(*machine.expansion) : Json(nullptr)},
            {"compaction_bytes_per_second", machine.compaction ? Json(*machine.compaction) : Json(nullptr)},
            {"stage_ns", machine.stage_ns},
            {"copies", std::move(copies)},
            {"operations", std::move(operations)}}}};
}

std::string machine_text(const workload::Machine& machine) {
  using Align = Table::Align;
  std::string text = fmt::format("{}\n\n", machine.device);
  Table copies(
      {{"copies from"}, {"to"}, {"size", Align::right}, {"time", Align::right}, {"GB/s", Align::right}});
  for (const workload::CopyTimes& times : machine.copies) {
    for (const workload::CopyPoint& point : times.points)
      copies.add({workload::name(times.from), workload::name(times.to), format_bytes(point.bytes),
                  format_duration(point.ns), fmt::format("{:.1f}", rate(point) / 1e9)});
  }
  text += copies.render() + "\n";
  Table operations({{"operation"}, {"parameters"}, {"level", Align::right}, {"time", Align::right}});
  for (const workload::OperationTimes& times : machine.operations) {
    for (const workload::LevelTime& point : times.points)
      operations.add(
          {times.operation, times.parameters, std::to_string(point.level), format_duration(point.ns)});
  }
  if (!operations.empty()) text += operations.render() + "\n";
  return text;
}

}  // namespace fheres::report
