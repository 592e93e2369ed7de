#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/text.hpp>

#include "answer.hpp"
#include "command.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

struct Options {
  std::string file;
  CommonOptions common;
  PlanningOptions planning;
};

ExitCode decide(const Options& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  if (std::holds_alternative<workload::Program>(*model)) {
    fmt::print(stderr, "fheres: {} is a Plan, which is decided already; `fheres explain` answers for it\n",
               options.file);
    return ExitCode::invalid;
  }
  const workload::Rehearsal rehearsal = rehearse(*model, options.planning);
  if (options.common.json) {
    fmt::print("{}", report::render(report::decisions_json(rehearsal, name_of(*model), options.file)));
  } else if (!options.common.quiet) {
    fmt::print("{}", report::decisions_text(rehearsal));
  }
  return exit_code_of(rehearsal);
}

}  // namespace

void add_decide(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "decide",
      "the controller's decisions for a Request (or a Workload's stages): victims, reasons, states, plan");
  command->add_option("file", options->file, "a document of kind Request or Workload")->required();
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer("example: fheres decide plans/automatic-rotate-scale.request.yaml");
  command->callback([options, &action] { action = [options] { return decide(*options); }; });
}

}  // namespace fheres::cli
