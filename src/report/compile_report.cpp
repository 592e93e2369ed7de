#include <algorithm>

#include <fmt/format.h>

#include <fheres/report/compile_report.hpp>
#include <fheres/report/table.hpp>

#include "report/where.hpp"

namespace fheres::report {
namespace {

using Align = Table::Align;
using compile::Compiled;
using compile::Inconclusive;
using compile::Infeasible;
using workload::Evidence;

Json place_json(const workload::Place& place) {
  if (!place.known()) return nullptr;
  return {{"file", place.file.str()}, {"line", place.line}, {"column", place.column}};
}

Json attempts_json(const std::vector<compile::Attempt>& attempts) {
  Json list = Json::array();
  for (const compile::Attempt& item : attempts) {
    list.push_back({{"method", item.method},
                    {"moved_bytes", item.moved_bytes ? Json(*item.moved_bytes) : Json(nullptr)},
                    {"reason", item.reason.empty() ? Json(nullptr) : Json(item.reason)}});
  }
  return list;
}

const char* kind_name(compile::Line::Kind kind) {
  switch (kind) {
    case compile::Line::Kind::budget:
      return "budget";
    case compile::Line::Kind::requirement:
      return "requirement";
    case compile::Line::Kind::reservation:
      return "reservation";
    case compile::Line::Kind::only_copy:
      return "only_copy";
    case compile::Line::Kind::placement:
      return "placement";
    case compile::Line::Kind::confined:
      return "confined";
  }
  return "";
}

std::string attempts_table(const std::vector<compile::Attempt>& attempts) {
  Table table({{"method"}, {"moved", Align::right}, {"note"}});
  for (const compile::Attempt& item : attempts)
    table.add({item.method, item.moved_bytes ? format_bytes(*item.moved_bytes) : "", item.reason});
  return table.render();
}

std::string peaks_table(const Compiled& compiled) {
  Table table({{"location"}, {"budget", Align::right}, {"peak", Align::right}, {"in"}});
  const auto budgets = compiled.program.world.budgets();
  for (const workload::PeakEvidence& peak : compiled.program.evidence->peaks) {
    const auto budget = budgets.find(peak.at);
    table.add({peak.at.name(), budget == budgets.end() ? "none" : format_bytes(budget->second),
               format_bytes(peak.bytes), peak.stage.empty() ? "initial placement" : peak.stage});
  }
  return table.render();
}

/// What is proven at `place`, and every line of the proof at its own.
std::vector<Finding> findings_of(const Infeasible& infeasible, const workload::Place& place) {
  const std::string whole =
      fmt::format("{}, {} too much", infeasible.reason, format_exact_bytes(infeasible.short_by));
  std::vector<Finding> findings{{kInfeasible, place, whole, ""}};
  for (const compile::Line& line : infeasible.lines) {
    if (!line.place.known()) continue;
    findings.push_back(
        {kInfeasible, line.place,
         fmt::format("{}: one of the lines that cannot hold together in {}", line.text(),
                     infeasible.stage.empty() ? "initial placement" : "stage " + infeasible.stage),
         ""});
  }
  return findings;
}

/// A line for each combination of what could be chosen and what was, with what the best other variant comes to.
std::string variants_table(const Evidence& evidence) {
  struct Row {
    std::string what, chosen, instead;
    std::vector<std::string> names;
  };
  std::vector<Row> rows;
  for (const workload::VariantEvidence& item : evidence.variants) {
    std::string instead;
    for (const workload::VariantEvidence::Instead& other : item.instead) {
      std::string text;
      if (other.moved_bytes) {
        text = format_bytes(*other.moved_bytes) + " moved";
      } else {
        text = fmt::format("at least {} moved{}", format_bytes(other.lower_bound_bytes),
                           other.reason.empty() ? "" : ", no plan found");
      }
      instead += fmt::format("{}{}: {}", instead.empty() ? "" : "; ", other.variant, text);
    }
    const std::string what = item.about == workload::Question::About::stage ? "stages" : "values";
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.what == what && row.chosen == item.chosen && row.instead == instead;
    });
    if (same == rows.end()) {
      rows.push_back({what, item.chosen, instead, {item.name}});
    } else {
      same->names.push_back(item.name);
    }
  }
  if (rows.empty()) return {};
  Table table({{"of"}, {"chosen"}, {"instead"}});
  for (const Row& row : rows) {
    std::string of = row.names.front();
    if (row.names.size() > 1) of += fmt::format(" and {} more {}", row.names.size() - 1, row.what);
    table.add({of, row.chosen, row.instead});
  }
  return table.render() + "\n";
}

}  // namespace

std::string gap_text(const Evidence& evidence) {
  if (evidence.optimal()) return "proven optimal";
  const auto gap = evidence.gap();
  if (!gap) return "and no bound above 0 is known";
  return fmt::format("{:.1f}% over the lower bound", *gap * 100);
}

static Json variants_json(const std::vector<workload::VariantEvidence>& variants) {
  Json list = Json::array();
  for (const workload::VariantEvidence& item : variants) {
    Json instead = Json::array();
    for (const workload::VariantEvidence::Instead& other : item.instead) {
      instead.push_back({{"variant", other.variant},
                         {"lower_bound_bytes", other.lower_bound_bytes},
                         {"moved_bytes", other.moved_bytes ? Json(*other.moved_bytes) : Json(nullptr)},
                         {"predicted_ns", other.predicted_ns ? Json(*other.predicted_ns) : Json(nullptr)},
                         {"reason", other.reason.empty() ? Json(nullptr) : Json(other.reason)}});
    }
    list.push_back({{"about", item.about == workload::Question::About::stage ? "stage" : "value"},
                    {"name", item.name},
                    {"chosen", item.chosen},
                    {"instead", std::move(instead)}});
  }
  return list;
}

Json to_json(const Evidence& evidence) {
  Json peaks = Json::array();
  for (const workload::PeakEvidence& peak : evidence.peaks) {
    peaks.push_back({{"at", peak.at.name()},
                     {"bytes", peak.bytes},
                     {"stage", peak.stage.empty() ? Json(nullptr) : Json(peak.stage)}});
  }
  const auto gap = evidence.gap();
  Json json = {{"method", evidence.method},
               {"minimize", evidence.minimize},
               {"moved_bytes", evidence.moved_bytes},
               {"lower_bound_bytes", evidence.lower_bound_bytes},
               {"gap", gap ? Json(*gap) : Json(nullptr)},
               {"optimal", evidence.optimal() ? "proven" : "not proven"},
               {"bound", evidence.bound},
               {"nodes", evidence.nodes},
               {"compactions", evidence.compactions},
               {"compacted_bytes", evidence.compacted_bytes},
               {"peaks", std::move(peaks)},
               {"time", nullptr}};
  if (evidence.time) {
    json["time"] = {{"machine", evidence.time->machine},
                    {"predicted_ns", evidence.time->predicted_ns},
                    {"lower_bound_ns", evidence.time->lower_bound_ns}};
  }
  if (!evidence.variants.empty()) {
    json["selections"] = evidence.selections;
    json["variants"] = variants_json(evidence.variants);
  }
  return json;
}

Json compile_json(const compile::Outcome& outcome, const std::string& name, const std::string& file,
                  const std::string& plan) {
  Json json = {{"schema", "fheres/compilation/v1"}, {"document", {{"file", file}, {"name", name}}}};
  if (const auto* compiled = std::get_if<Compiled>(&outcome)) {
    json["answer"] = "feasible";
    json["plan"] = plan;
    json["evidence"] = to_json(*compiled->program.evidence);
    json["attempts"] = attempts_json(compiled->attempts);
  } else if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
    json["answer"] = "infeasible";
    json["reason"] = infeasible->reason;
    json["stage"] = infeasible->stage.empty() ? Json(nullptr) : Json(infeasible->stage);
    json["at"] = infeasible->at.name();
    json["budget"] = infeasible->budget;
    json["short_by"] = infeasible->short_by;
    json["lines"] = Json::array();
    for (const compile::Line& line : infeasible->lines) {
      json["lines"].push_back({{"kind", kind_name(line.kind)},
                               {"name", line.name},
                               {"bytes", line.bytes},
                               {"place", place_json(line.place)}});
    }
  } else {
    const auto& inconclusive = std::get<Inconclusive>(outcome);
    json["answer"] = "inconclusive";
    json["reason"] = inconclusive.reason;
    json["attempts"] = attempts_json(inconclusive.attempts);
  }
  return json;
}

std::string compile_text(const compile::Outcome& outcome, const std::string& name, const std::string& plan) {
  std::string text = name + "\n\n";
  if (const auto* compiled = std::get_if<Compiled>(&outcome)) {
    const Evidence& evidence = *compiled->program.evidence;
    text += attempts_table(compiled->attempts) + "\n" + peaks_table(*compiled) + "\n";
    text += variants_table(evidence);
    if (evidence.time) {
      text += fmt::format("predicted on {}: {:.3f} ms, at least {:.3f} ms\n\n", evidence.time->machine,
                          static_cast<double>(evidence.time->predicted_ns) / 1e6,
                          static_cast<double>(evidence.time->lower_bound_ns) / 1e6);
    }
    text += fmt::format("feasible: {} moved, {} ({}{}); written to {}\n", format_bytes(evidence.moved_bytes),
                        gap_text(evidence), evidence.method,
                        evidence.compacted_bytes == 0
                            ? ""
                            : fmt::format(", {} compacted", format_bytes(evidence.compacted_bytes)),
                        plan);
  } else if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
    text += "cannot hold together (without any one of them, the others can):\n";
    for (const compile::Line& line : infeasible->lines) {
      const std::string place = place_text(line.place);
      text += fmt::format("  {}{}\n", line.text(), place.empty() ? "" : fmt::format(" [{}]", place));
    }
    text += fmt::format("\ninfeasible: {}, {} too much\n", infeasible->reason,
                        format_exact_bytes(infeasible->short_by));
  } else {
    const auto& inconclusive = std::get<Inconclusive>(outcome);
    text += attempts_table(inconclusive.attempts) + "\n";
    text += "inconclusive: no plan was found that replays, and no proof that there is none\n";
  }
  return text;
}

std::vector<Case> compile_cases(const compile::Outcome& outcome, const std::vector<Part>& stages,
                                const workload::Place& document) {
  const auto* infeasible = std::get_if<Infeasible>(&outcome);
  const auto* inconclusive = std::get_if<Inconclusive>(&outcome);
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, bool fails, const workload::Place& place) {
    Case& item = cases.emplace_back();
    item.name = name;
    if (fails) {
      item.result = Case::Result::failed;
      item.findings = findings_of(*infeasible, place.known() ? place : document);
    } else if (infeasible != nullptr || inconclusive != nullptr) {
      item.result = Case::Result::skipped;
      item.reason = infeasible != nullptr ? "no plan serves every stage" : "no plan was found";
    }
  };
  if (inconclusive != nullptr) {
    Case& item = cases.emplace_back();
    item.name = "plan";
    item.result = Case::Result::undecided;
    item.findings = {{kInconclusive, document, inconclusive->reason, ""}};
    item.detail = attempts_table(inconclusive->attempts);
  }
  add("initial placement", infeasible != nullptr && infeasible->stage.empty(), document);
  for (const Part& stage : stages)
    add(stage.text, infeasible != nullptr && infeasible->stage == stage.text, stage.place);
  return cases;
}

}  // namespace fheres::report
