#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/compile_report.hpp>
#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/text.hpp>
#include <fheres/workload/rehearsal.hpp>

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

ExitCode explain(const Options& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  const workload::Rehearsal rehearsal = rehearse(*model, options.planning);
  if (options.common.json) {
    fmt::print("{}", report::render(report::explanation_json(rehearsal, name_of(*model), options.file)));
  } else if (!options.common.quiet) {
    if (std::holds_alternative<workload::Workload>(*model)) {
      fmt::print("{}: answered for the policy {}\n\n", name_of(*model), policy_identity(*model));
    } else {
      fmt::print("{}\n\n", name_of(*model));
    }
    fmt::print("{}", report::rehearsal_text(rehearsal));
    const auto* program = std::get_if<workload::Program>(&*model);
    if (program != nullptr && program->evidence && program->evidence->moved_bytes == rehearsal.moved_bytes)
      fmt::print("compiled: {} ({})\n", report::gap_text(*program->evidence), program->evidence->method);
  }
  return exit_code_of(rehearsal);
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "dry run of a Plan, Request or Workload: each action, each peak, feasible or why not; needs no GPU");
  command->add_option("file", options->file, "the document")->required();
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer("example: fheres explain plans/two-tiles.yaml --budget cuda:0=38MiB");
  command->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace fheres::cli
