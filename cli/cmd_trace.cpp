#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include <fheres/report/chrome_trace.hpp>
#include <fheres/report/file.hpp>
#include <fheres/report/table.hpp>
#include <fheres/report/timeline.hpp>

#include "command.hpp"
#include "json_file.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "streams.hpp"

namespace fheres::cli {
namespace {

struct TraceOptions {
  std::string report, format, output;
  CommonOptions common;
};

/// What the user asked for, else what the output's name says, else a Chrome trace.
std::string format_of(const TraceOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension == ".html" || extension == ".csv") return extension.substr(1);
  return "chrome";
}

std::string convert(const report::Timeline& timeline, const std::string& format) {
  if (format == "csv") return report::timeline_csv(timeline);
  if (format == "html") return report::timeline_page(timeline);
  return report::chrome_trace_text(timeline);
}

/// Most of a long report, and nothing of a timeline.
constexpr std::string_view kUnread[] = {"decision", "actions", "reservations", "locations",
                                        "peaks",    "outputs", "checks",       "final"};

/// Nothing where the file is no report, after saying why.
std::optional<report::Timeline> read(const std::string& file) {
  auto json = read_json(file, kUnread);
  try {
    if (const auto* read = std::get_if<report::Json>(&json)) return report::read_timeline(*read);
    say(fmt::format("fheres: {}: {}", file, std::get<std::string>(json)));
  } catch (const report::ReportError& error) {
    say(fmt::format("fheres: {}: no run report: {} [{}]", file, error.what(), error.code()));
  }
  return std::nullopt;
}

ExitCode trace(const TraceOptions& options) {
  const std::string format = format_of(options);
  if (options.output.empty() && options.common.json && format != "chrome") {
    fmt::print(stderr, "fheres: --json without -o prints a Chrome trace; {} is no JSON\n", format);
    return ExitCode::invalid;
  }
  if (!outputs_are_ready({{"the report", options.report}}, {{"--output", options.output}}))
    return ExitCode::invalid;
  const auto timeline = read(options.report);
  if (!timeline) return ExitCode::invalid;
  const std::string text = convert(*timeline, format);
  if (options.output.empty()) {
    if (!options.common.quiet) std::fwrite(text.data(), 1, text.size(), stdout);
    return ExitCode::done;
  }
  report::write_file(options.output, text);
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/trace/v1"},
                                     {"report", options.report},
                                     {"format", format},
                                     {"file", options.output},
                                     {"bytes", text.size()},
                                     {"stages", timeline->stages.size()},
                                     {"transitions", timeline->transitions.size()},
                                     {"operations", timeline->operations.size()},
                                     {"arrows", timeline->arrows.size()}}));
  } else if (!options.common.quiet) {
    fmt::print("{}: {} as {}, {}, {}, {}\n", options.output, timeline->document, format,
               report::format_count(timeline->stages.size(), "stage"),
               report::format_count(timeline->transitions.size(), "transition"),
               report::format_count(timeline->operations.size(), "operation"));
  }
  return ExitCode::done;
}

}  // namespace

void add_trace(Command& app, Action& action) {
  auto options = std::make_shared<TraceOptions>();
  Command* command = app.add_subcommand(
      "trace", "converts the report of a run to a Chrome trace, a CSV table, or a page to look at");
  names_file(command->add_option("report", options->report, "what `fheres run --report` wrote"))->required();
  command
      ->add_option(
          "--format", options->format,
          "chrome (opens in Perfetto), csv, or html; where it is left out, the output's name says it")
      ->one_of({"chrome", "csv", "html"});
  names_file(
      command->add_option("-o,--output", options->output, "where to write it; stdout where it is left out"));
  add_common(*command, options->common);
  command->footer("example: fheres trace report.json --format html -o timeline.html");
  command->callback([options, &action] { action = [options] { return trace(*options); }; });
}

}  // namespace fheres::cli
