#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/compile/fit.hpp>
#include <fheres/report/file.hpp>
#include <fheres/report/fit_report.hpp>

#include "command.hpp"
#include "document.hpp"
#include "outputs.hpp"

namespace fheres::cli {
namespace {

struct FitOptions {
  std::string file, machine, csv, picture;
  std::vector<std::string> at;
  std::size_t points = 0;
  std::optional<std::uint64_t> node_limit;
  CommonOptions common;
  PlanningOptions planning;
};

ExitCode fit_workload(const FitOptions& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  const auto* workload = std::get_if<workload::Workload>(&*model);
  if (workload == nullptr)
    return refuse_kind(options.file, *model, "cannot be fitted, expected a Workload", options.common);
  if (!outputs_are_ready({{"the document", options.file}, {"--machine", options.machine}},
                         {{"--csv", options.csv}, {"--picture", options.picture}}))
    return ExitCode::invalid;
  compile::FitOptions how;
  how.compile.node_limit = options.node_limit;
  how.compile.search_state_limit = options.planning.search_state_limit;
  how.points = options.points;
  if (!load_machine_or_report(options.machine, options.common, how.compile.machine)) return ExitCode::invalid;
  std::vector<memory::Location> locations;
  for (const std::string& name : options.at) locations.push_back(*memory::Location::from_name(name));
  if (locations.empty()) locations = compile::device_locations(*workload);
  report::Fits fits;
  bool all = true;
  for (const memory::Location at : locations) {
    fits.push_back(compile::fit(*workload, at, how));
    all = all && std::holds_alternative<compile::Fit>(fits.back());
  }
  const std::string& name = workload->metadata.name.text;
  if (!options.csv.empty()) report::write_file(options.csv, report::fit_csv(fits));
  if (!options.picture.empty()) report::write_file(options.picture, report::fit_svg(fits, name));
  if (options.common.json) {
    fmt::print("{}", report::render(report::fit_json(fits, name, options.file)));
  } else if (!options.common.quiet) {
    fmt::print("{}", report::fit_text(fits, name));
  }
  return all ? ExitCode::done : ExitCode::no;
}

}  // namespace

void add_fit(Command& app, Action& action) {
  auto options = std::make_shared<FitOptions>();
  Command* command = app.add_subcommand(
      "fit", "the smallest budget of each device with which a Workload has a plan; needs no GPU");
  names_file(command->add_option("workload", options->file, "the Workload document"))->required();
  command
      ->add_option("--at", options->at,
                   "the location whose budget is asked for; repeatable; otherwise every device")
      ->check([](const std::string& text) {
        return memory::Location::from_name(text) ? std::string() : fmt::format("`{}` is no location", text);
      })
      ->type_name("LOCATION")
      ->take_all();
  command
      ->add_option("--sweep", options->points,
                   "what plans move under so many budgets, up to where everything fits")
      ->between(2, 1000)
      ->expected(0, 1)
      ->default_str("12");
  names_file(
      command->add_option("--csv", options->csv, "writes the sweep as a table of comma-separated values"));
  names_file(command->add_option("--picture", options->picture, "writes the sweep as a picture (SVG)"));
  names_file(command->add_option("--machine", options->machine,
                                 "a Machine document: the sweep says predicted times too"));
  command
      ->add_option(
          "--node-limit", options->node_limit,
          "nodes that branch and bound may open, of each plan of a sweep; otherwise by the workload's size")
      ->whole();
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer("example: fheres fit samples/explicit-tiles.yaml --sweep 8 --picture tiles.svg");
  command->callback([options, &action] {
    if (options->points == 0 && (!options->csv.empty() || !options->picture.empty())) options->points = 12;
    action = [options] { return fit_workload(*options); };
  });
}

}  // namespace fheres::cli
