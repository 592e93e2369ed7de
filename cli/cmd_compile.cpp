#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <fheres/compile/compile.hpp>
#include <fheres/documents/emit.hpp>
#include <fheres/report/compile_report.hpp>
#include <fheres/report/file.hpp>

#include "baseline.hpp"
#include "ci_output.hpp"
#include "command.hpp"
#include "document.hpp"
#include "outputs.hpp"
#include "streams.hpp"

namespace fheres::cli {
namespace {

struct CompileOptions {
  std::string file;
  std::string plan;
  std::string machine;
  std::string baseline;  // empty: none
  std::string minimize = "bytes";
  std::optional<std::uint64_t> node_limit;
  CommonOptions common;
  PlanningOptions planning;
};

/// The workload as the plan names it: from the plan's folder where that is a way, and its hash.
workload::WorkloadReference reference_to(const std::string& file, const std::string& sha256,
                                         const std::string& plan) {
  const std::filesystem::path folder = std::filesystem::absolute(plan).parent_path();
  const std::filesystem::path from_there =
      std::filesystem::absolute(file).lexically_normal().lexically_proximate(folder.lexically_normal());
  return {from_there.generic_string(), sha256, {}};
}

/// A document is UTF-8, and a file's name need not be.
bool can_be_named(const std::string& file) {
  try {
    return !report::Json(file).dump().empty();
  } catch (const report::Json::type_error&) {
    return false;
  }
}

ExitCode exit_code_of(const compile::Outcome& outcome) {
  if (std::holds_alternative<compile::Infeasible>(outcome)) return ExitCode::no;
  return std::holds_alternative<compile::Inconclusive>(outcome) ? ExitCode::inconclusive : ExitCode::done;
}

ExitCode compile_workload(const CompileOptions& options) {
  std::string sha256;
  const auto model = load_or_report(options.file, options.planning, options.common, &sha256);
  if (!model) return ExitCode::invalid;
  const auto* workload = std::get_if<workload::Workload>(&*model);
  if (workload == nullptr)
    return refuse_kind(options.file, *model, "cannot be compiled, expected a Workload", options.common);
  if (!outputs_are_ready({{"the document", options.file}, {"--machine", options.machine}},
                         {{"--output", options.plan}}))
    return ExitCode::invalid;
  std::optional<Baseline> baseline = Baseline::read(options.baseline, name_of(*model));
  if (!baseline) return ExitCode::invalid;
  compile::CompileOptions how;
  how.node_limit = options.node_limit;
  how.search_state_limit = options.planning.search_state_limit;
  if (!load_machine_or_report(options.machine, options.common, how.machine)) return ExitCode::invalid;
  if (options.minimize == "time") {
    how.minimize = compile::CompileOptions::Minimize::time;
    if (!how.machine) how.machine = workload::default_machine();
  }
  if (!can_be_named(options.file)) {
    say("fheres: a Plan cannot name this workload: its file's name is no UTF-8");
    return ExitCode::invalid;
  }
  compile::Outcome outcome = compile::compile(*workload, how);
  if (auto* compiled = std::get_if<compile::Compiled>(&outcome)) {
    compiled->program.workload = reference_to(options.file, sha256, options.plan);
    report::write_file(options.plan, documents::emit(compiled->program));
  }
  report::Json json = report::compile_json(outcome, name_of(*model), options.file, options.plan);
  const ExitCode code = baseline->judge(exit_code_of(outcome), json);
  if (is_for_ci(options.common)) {
    std::vector<report::Case> cases = report::compile_cases(outcome, parts_of(*model), place_of(*model));
    baseline->add_case(cases, place_of(*model));
    print_for_ci(options.common, "fheres compile", name_of(*model), cases);
  } else if (options.common.json) {
    fmt::print("{}", report::render(json));
  } else if (!options.common.quiet) {
    fmt::print("{}", report::compile_text(outcome, workload->metadata.name.text, options.plan));
  }
  baseline->say();
  return code;
}

}  // namespace

void add_compile(Command& app, Action& action) {
  auto options = std::make_shared<CompileOptions>();
  Command* command = app.add_subcommand(
      "compile", "a plan for a whole Workload, with a bound on how good any plan can be; needs no GPU");
  names_file(command->add_option("workload", options->file, "the Workload document"))->required();
  names_file(
      command->add_option("-o,--output", options->plan, "where the Plan is written, whole or not at all"))
      ->required();
  names_file(command->add_option(
      "--machine", options->machine,
      "a Machine document: transfers are placed ahead of their use, and the time is predicted"));
  command
      ->add_option("--minimize", options->minimize,
                   "bytes or time; without a Machine, times of large copies alone")
      ->one_of({"bytes", "time"})
      ->capture_default_str();
  command
      ->add_option("--node-limit", options->node_limit,
                   "nodes that branch and bound may open; 0: none; otherwise by the workload's size")
      ->whole();
  add_format(*command, options->common);
  add_baseline(*command, options->baseline);
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer(
      "example: fheres compile samples/explicit-tiles.yaml -o tiles.plan.yaml --budget cuda:0=34MiB");
  command->callback([options, &action] { action = [options] { return compile_workload(*options); }; });
}

}  // namespace fheres::cli
