#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <fheres/report/table.hpp>
#include <fheres/report/verification.hpp>

namespace fheres::report {
namespace {

using verify::LocationFigures;
using verify::Violation;

std::string budget_text(const LocationFigures& figures) {
  return figures.budget ? format_bytes(*figures.budget) : "none";
}

/// The location that is fullest against its budget; the largest peak where none has one.
const LocationFigures* tightest(const std::vector<LocationFigures>& locations) {
  const auto share = [](const LocationFigures& l) {
    return l.budget && *l.budget != 0 ? static_cast<double>(l.peak) / static_cast<double>(*l.budget) : -1.0;
  };
  const LocationFigures* best = nullptr;
  for (const LocationFigures& l : locations) {
    if (l.peak == 0) continue;
    if (best == nullptr || share(l) > share(*best) || (share(l) == share(*best) && l.peak > best->peak))
      best = &l;
  }
  return best;
}

std::string peak_text(const LocationFigures& l) {
  return fmt::format("peak {} at {} ({})", l.budget ? format_share(l.peak, *l.budget) : format_bytes(l.peak),
                     l.at.name(), l.peak_stage.empty() ? "initial placement" : "stage " + l.peak_stage);
}

std::string verdict(const verify::Verification& verification, const Verified& of) {
  const auto& violations = verification.violations;
  if (violations.empty()) {
    const LocationFigures* peak = tightest(verification.replay.locations);
    return fmt::format("sound: {}, {} moved{}{}\n", peak != nullptr ? peak_text(*peak) : "nothing is charged",
                       format_bytes(verification.replay.moved_bytes),
                       verification.has_evidence ? ", as its evidence says" : "",
                       of.workload.empty() ? "" : fmt::format(", all that {} asks for", of.workload));
  }
  // By number, then what is no rule.
  std::set<std::pair<int, std::string>> rules;
  for (const Violation& violation : violations)
    rules.emplace(violation.rule == 0 ? 1000 : violation.rule, verify::code(violation));
  std::string list;
  for (const auto& [order, rule] : rules) list += (list.empty() ? "" : ", ") + rule;
  const workload::Place& place = violations.front().place;
  return fmt::format(
      "unsound: {} violation{} ({}){}\n", violations.size(), violations.size() == 1 ? "" : "s", list,
      place.known() ? fmt::format(", the first at {}:{}:{}", place.file.str(), place.line, place.column)
                    : std::string());
}

}  // namespace

Json verification_json(const verify::Verification& verification, const Verified& of) {
  const verify::Replay& replay = verification.replay;
  Json violations = Json::array();
  for (const Violation& violation : verification.violations) {
    violations.push_back({{"rule", verify::code(violation)},
                          {"stage", violation.stage.empty() ? Json(nullptr) : Json(violation.stage)},
                          {"phase", verify::name(violation.phase)},
                          {"index", violation.index},
                          {"place", violation.place.known() ? Json({{"file", violation.place.file.str()},
                                                                    {"line", violation.place.line},
                                                                    {"column", violation.place.column}})
                                                            : Json(nullptr)},
                          {"message", violation.message}});
  }
  Json peaks = Json::array();
  for (const LocationFigures& figures : replay.locations) {
    peaks.push_back({{"at", figures.at.name()},
                     {"budget", figures.budget ? Json(*figures.budget) : Json(nullptr)},
                     {"charged", figures.peak},
                     {"stage", figures.peak_stage.empty() ? Json(nullptr) : Json(figures.peak_stage)},
                     {"compacted_bytes", figures.compacted}});
  }
  return {{"schema", "fheres/verification/v1"},
          {"document", {{"file", of.file}, {"name", of.name}}},
          {"sound", verification.sound()},
          {"violations", std::move(violations)},
          {"checked",
           {{"stages", of.stages},
            {"actions", replay.actions},
            {"evidence", verification.has_evidence},
            {"workload", of.workload.empty() ? Json(nullptr) : Json(of.workload)}}},
          {"peaks", std::move(peaks)},
          {"moved_bytes", replay.moved_bytes},
          {"compactions", replay.compactions},
          {"compacted_bytes", replay.compacted_bytes}};
}

std::string verification_text(const verify::Verification& verification, const Verified& of) {
  const verify::Replay& replay = verification.replay;
  std::string text = fmt::format("{}: {} action{} in {} stage{}\n\n", of.name, replay.actions,
                                 replay.actions == 1 ? "" : "s", of.stages, of.stages == 1 ? "" : "s");
  Table table({{"location"}, {"budget", Table::Align::right}, {"peak", Table::Align::right}, {"in"}});
  for (const LocationFigures& l : replay.locations) {
    table.add({l.at.name(), budget_text(l), format_bytes(l.peak),
               l.peak_stage.empty() ? "initial placement" : l.peak_stage});
  }
  return text + table.render() + "\n" + verdict(verification, of);
}

}  // namespace fheres::report
