#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/diff_report.hpp>

#include "command.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

struct Options {
  std::string before, after;
  CommonOptions common;
  PlanningOptions planning;
};

/// A report is JSON; everything else is a document.
std::optional<report::Json> read_json(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return std::nullopt;
  report::Json json = report::Json::parse(text, nullptr, false);
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

std::optional<compile::Movements> load_movements(const std::string& file, const Options& options) {
  if (const auto json = read_json(file)) {
    auto read = report::movements_of(*json);
    if (auto* movements = std::get_if<compile::Movements>(&read)) return std::move(*movements);
    fmt::print(stderr, "fheres: {}: {}\n", file, std::get<std::string>(read));
    return std::nullopt;
  }
  const auto model = load_or_report(file, options.planning, options.common);
  if (!model) return std::nullopt;
  if (const auto* program = std::get_if<workload::Program>(&*model)) return compile::movements_of(*program);
  if (const auto* workload = std::get_if<workload::Workload>(&*model)) {
    control::DecideOptions how;
    how.search_state_limit = options.planning.search_state_limit;
    return compile::movements_of(*workload, how);
  }
  fmt::print(stderr,
             "fheres: {} is a {}, expected a Plan, a Workload, or the JSON of explain, decide or run; "
             "`fheres decide "
             "--json` gives one\n",
             file, documents::kind_of(*model));
  return std::nullopt;
}

ExitCode compare(const Options& options) {
  const auto before = load_movements(options.before, options);
  const auto after = load_movements(options.after, options);
  if (!before || !after) return ExitCode::invalid;
  const compile::Diff diff = compile::diff(*before, *after);
  if (options.common.json) {
    fmt::print("{}", report::render(report::diff_json(diff, *before, *after)));
  } else if (!options.common.quiet) {
    fmt::print("{}", report::diff_text(diff, *before, *after));
  }
  return diff.equal() ? ExitCode::done : ExitCode::no;
}

}  // namespace

void add_diff(Command& app, Action& action) {
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "diff",
      "two plans, workloads, decisions or reports: what moved, what changed, why a transfer appeared");
  command->add_option("before", options->before, "a Plan, a Workload, or the JSON of explain, decide or run")
      ->required();
  command->add_option("after", options->after, "the same of what it is compared with")->required();
  add_planning(*command, options->planning);
  add_common(*command, options->common);
  command->footer(
      "example: fheres diff plans/two-tiles.yaml plans/does-not-fit.yaml\n"
      "Exit codes: 0 equal, 1 differences, 2 invalid.");
  command->callback([options, &action] { action = [options] { return compare(*options); }; });
}

}  // namespace fheres::cli
