#include <algorithm>

#include <fmt/format.h>

#include <fheres/report/run_json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
namespace {

using Align = Table::Align;

std::string transitions_table(const runtime::RunReport& report) {
  const NameOf names = names_of(report);
  Table table({{"stage"}, {"phase"}, {"transition"}, {"bytes", Align::right}, {"time", Align::right}});
  for (const runtime::StageRun& stage : report.stages) {
    std::string title = stage.name;
    for (const residency::ActionReport& action : stage.report.actions) {
      const residency::TransitionReport& item = action.transition;
      std::string what =
          fmt::format("{} {}", residency::verb_of(item.action), names(residency::value_of(item.action)));
      if (item.no_op()) {
        what += ": " + item.no_op_reason;
      } else if (item.source && item.destination) {
        what += fmt::format(" {} -> {}", item.source->name(), item.destination->name());
      } else if (const auto at = residency::location_of(item.action)) {
        what += fmt::format(" at {}", at->name());
      }
      table.add({std::exchange(title, ""), residency::name(action.phase), std::move(what),
                 item.bytes != 0 ? format_bytes(item.bytes) : "",
                 item.no_op() ? "" : format_duration(static_cast<double>(item.end_ns - item.start_ns))});
    }
    if (!title.empty()) table.add({title, "", "nothing to move", "", ""});
  }
  return table.empty() ? "" : table.render();
}

std::string peaks_table(const runtime::RunReport& report) {
  Table table({{"location"},
               {"budget", Align::right},
               {"predicted peak", Align::right},
               {"measured peak", Align::right},
               {"allocated", Align::right}});
  for (const RunPeak& row : peaks_of(report)) {
    table.add({row.at.name(), row.budget ? format_bytes(*row.budget) : "none", format_bytes(row.predicted),
               format_bytes(row.measured), format_bytes(row.allocated)});
  }
  return table.empty() ? "" : table.render();
}

std::string checks_table(const runtime::RunReport& report) {
  Table table({{"output"},
               {"largest error", Align::right},
               {"tolerance", Align::right},
               {"result"},
               {"residues (sha256)"}});
  for (const runtime::CheckRun& check : report.checks) {
    const bool skipped = !check.skipped.empty();
    table.add({check.expected ? check.value + " (expected)" : check.value,
               skipped ? "" : fmt::format("{:.1e}", check.largest_error),
               fmt::format("{:.1e}", check.tolerance),
               skipped        ? "not checked"
               : check.passed ? "right"
                              : "wrong",
               check.residues_sha256.substr(0, 16)});
  }
  return table.empty() ? "" : table.render();
}

}  // namespace

std::string verdict(const runtime::RunReport& report) {
  if (report.failure) {
    return fmt::format("{}: {}{}: {} [{}]\n", runtime::name(report.status),
                       report.failure->stage.empty() ? "" : fmt::format("stage {}, ", report.failure->stage),
                       report.failure->phase, report.failure->message, report.failure->code);
  }
  std::string peak = "nothing charged";
  double fullest = -1;
  Bytes largest = 0;
  for (const RunPeak& row : peaks_of(report)) {
    const double fullness = row.budget && *row.budget != 0
                                ? static_cast<double>(row.measured) / static_cast<double>(*row.budget)
                                : 0.0;
    if (fullness < fullest || (fullness == fullest && row.measured <= largest)) continue;
    fullest = fullness;
    largest = row.measured;
    peak = fmt::format("peak {} at {}",
                       row.budget ? format_share(row.measured, *row.budget) : format_bytes(row.measured),
                       row.at.name());
  }
  const bool expected = std::any_of(report.checks.begin(), report.checks.end(),
                                    [](const auto& check) { return check.expected; });
  const auto count = [&](auto is) { return std::count_if(report.checks.begin(), report.checks.end(), is); };
  const auto skipped = count([](const auto& check) { return !check.skipped.empty(); });
  const auto compared = static_cast<std::ptrdiff_t>(report.checks.size()) - skipped;
  std::string outputs;
  if (compared != 0 || skipped == 0) {
    outputs = fmt::format("{} of {} {} right, largest error {:.1e}",
                          count([](const auto& check) { return check.passed; }), compared,
                          expected ? "checks" : "outputs", report.largest_error());
  }
  if (skipped != 0) {
    const auto first = std::find_if(report.checks.begin(), report.checks.end(),
                                    [](const auto& check) { return !check.skipped.empty(); });
    outputs += fmt::format("{}{} output{} not checked ({})", outputs.empty() ? "" : "; ", skipped,
                           skipped == 1 ? "" : "s", first->skipped);
  }
  return fmt::format("{}: {}; {}, {} moved\n", runtime::name(report.status), outputs, peak,
                     format_bytes(report.moved_bytes()));
}

std::string run_text(const runtime::RunReport& report) {
  std::string text = fmt::format("{} ({} driver), {}{}{}\n", report.device, report.driver, report.parameters,
                                 report.insecure ? ", INSECURE (security: none)" : "",
                                 report.seed ? fmt::format(", fixed seed {}", *report.seed) : "");
  if (report.without_secret && !report.checks.empty()) {
    text += fmt::format("no secret key: keys and inputs come from files; tables on the device: {}\n\n",
                        format_bytes(report.context_bytes));
  } else {
    text += fmt::format("client: keys in {}, encryption in {}, {} made; tables on the device: {}\n\n",
                        format_duration(static_cast<double>(report.client.key_generation_ns)),
                        format_duration(static_cast<double>(report.client.encryption_ns)),
                        format_bytes(report.client.bytes_made), format_bytes(report.context_bytes));
  }
  for (const std::string& block : {transitions_table(report), peaks_table(report), checks_table(report)}) {
    if (!block.empty()) text += block + "\n";
  }
  for (const std::string& warning : report.warnings) text += fmt::format("warning: {}\n", warning);
  return text + verdict(report);
}

}  // namespace fheres::report
