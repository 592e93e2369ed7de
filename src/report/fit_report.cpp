#include <fmt/format.h>

#include <fheres/report/fit_report.hpp>
#include <fheres/report/table.hpp>

namespace fheres::report {
namespace {

using Align = Table::Align;
using compile::Fit;
using compile::FitPoint;
using compile::Unfit;

std::string sweep_table(const Fit& fit) {
  const bool timed = !fit.sweep.empty() && fit.sweep.front().predicted_ns.has_value();
  std::vector<Table::Column> columns{
      {"budget", Align::right}, {"moved", Align::right}, {"at least", Align::right}};
  if (timed) columns.push_back({"predicted", Align::right});
  columns.push_back({""});
  Table table(columns);
  for (const FitPoint& point : fit.sweep) {
    std::vector<std::string> row{format_bytes(point.budget), format_bytes(point.moved_bytes),
                                 format_bytes(point.lower_bound_bytes)};
    if (timed)
      row.push_back(fmt::format("{:.3f} ms", static_cast<double>(point.predicted_ns.value_or(0)) / 1e6));
    row.push_back(point.bend ? "bend" : "");
    table.add(std::move(row));
  }
  return table.render();
}

}  // namespace

Json fit_json(const Fits& fits, const std::string& name, const std::string& file) {
  Json json = {{"schema", "fheres/fit/v1"},
               {"document", {{"file", file}, {"name", name}}},
               {"locations", Json::array()}};
  for (const auto& item : fits) {
    if (const auto* no = std::get_if<Unfit>(&item)) {
      json["locations"].push_back({{"at", no->at.name()}, {"smallest", nullptr}, {"reason", no->reason}});
      continue;
    }
    const Fit& fit = std::get<Fit>(item);
    Json sweep = Json::array();
    for (const FitPoint& point : fit.sweep) {
      sweep.push_back({{"budget", point.budget},
                       {"moved_bytes", point.moved_bytes},
                       {"lower_bound_bytes", point.lower_bound_bytes},
                       {"predicted_ns", point.predicted_ns ? Json(*point.predicted_ns) : Json(nullptr)},
                       {"bend", point.bend}});
    }
    json["locations"].push_back(
        {{"at", fit.at.name()},
         {"smallest", fit.smallest},
         {"proven_too_small", fit.proven_too_small ? Json(*fit.proven_too_small) : Json(nullptr)},
         {"closed", fit.closed()},
         {"reason", fit.reason.empty() ? Json(nullptr) : Json(fit.reason)},
         {"sweep", std::move(sweep)}});
  }
  return json;
}

std::string fit_text(const Fits& fits, const std::string& name) {
  std::string text = name + "\n";
  for (const auto& item : fits) {
    if (const auto* no = std::get_if<Unfit>(&item)) {
      text += fmt::format("\n{}: no budget helps: {}\n", no->at.name(), no->reason);
      continue;
    }
    const Fit& fit = std::get<Fit>(item);
    if (!fit.sweep.empty()) text += "\n" + sweep_table(fit);
    text += fmt::format("\n{}: {} is enough", fit.at.name(), format_exact_bytes(fit.smallest));
    if (fit.closed()) {
      text += fit.proven_too_small ? ", and one byte less is not" : "";
    } else if (fit.proven_too_small) {
      text += fmt::format(", {} is not", format_exact_bytes(*fit.proven_too_small));
    }
    text += fit.reason.empty() ? "\n" : fmt::format(": {}\n", fit.reason);
  }
  return text;
}

std::string fit_csv(const Fits& fits) {
  std::string text = "location,budget,moved_bytes,lower_bound_bytes,predicted_ns,bend\n";
  for (const auto& item : fits) {
    const auto* fit = std::get_if<Fit>(&item);
    if (fit == nullptr) continue;
    for (const FitPoint& point : fit->sweep) {
      text += fmt::format("{},{},{},{},{},{}\n", fit->at.name(), point.budget, point.moved_bytes,
                          point.lower_bound_bytes,
                          point.predicted_ns ? std::to_string(*point.predicted_ns) : "", point.bend ? 1 : 0);
    }
  }
  return text;
}

}  // namespace fheres::report
