#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <fheres/base/file.hpp>
#include <fheres/base/sha256.hpp>
#include <fheres/compile/compile.hpp>
#include <fheres/documents/emit.hpp>
#include <fheres/documents/machine_file.hpp>
#include <fheres/report/compile_report.hpp>

#include "baseline.hpp"
#include "ci_output.hpp"
#include "command.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

struct Options {
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
workload::WorkloadReference reference_to(const std::string& file, const std::string& plan) {
  const MappedFile bytes(file);
  Sha256 hash;
  hash.add(bytes.bytes());
  const std::filesystem::path folder = std::filesystem::absolute(plan).parent_path();
  const std::filesystem::path from_there =
      std::filesystem::absolute(file).lexically_normal().lexically_proximate(folder.lexically_normal());
  return {from_there.generic_string(), hash.finish(), {}};
}

ExitCode exit_code_of(const compile::Outcome& outcome) {
  if (std::holds_alternative<compile::Infeasible>(outcome)) return ExitCode::no;
  return std::holds_alternative<compile::Inconclusive>(outcome) ? ExitCode::inconclusive : ExitCode::done;
}

ExitCode compile_workload(const Options& options) {
  const auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  const auto* workload = std::get_if<workload::Workload>(&*model);
  if (workload == nullptr) {
    fmt::print(stderr, "fheres: {} is a {}; only a Workload can be compiled\n", options.file,
               documents::kind_of(*model));
    return ExitCode::invalid;
  }
  std::optional<Baseline> baseline = Baseline::read(options.baseline, name_of(*model));
  if (!baseline) return ExitCode::invalid;
  compile::CompileOptions how;
  how.node_limit = options.node_limit;
  how.search_state_limit = options.planning.search_state_limit;
  if (!options.machine.empty()) {
    const documents::Loaded loaded = documents::load_machine(options.machine);
    if (!loaded.machine) {
      print_diagnostics(loaded, options.common);
      return ExitCode::invalid;
    }
    how.machine = *loaded.machine;
  }
  if (options.minimize == "time") {
    how.minimize = compile::CompileOptions::Minimize::time;
    if (!how.machine) how.machine = workload::default_machine();
  }
  compile::Outcome outcome = compile::compile(*workload, how);
  if (auto* compiled = std::get_if<compile::Compiled>(&outcome)) {
    compiled->program.workload = reference_to(options.file, options.plan);
    OutputFile out(options.plan);
    const std::string text = documents::emit(compiled->program);
    out.write(std::as_bytes(std::span(text)));
    out.finish();
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
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "compile", "a plan for a whole Workload, with a bound on how good any plan can be; needs no GPU");
  command->add_option("workload", options->file, "the Workload document")->required();
  command->add_option("-o,--output", options->plan, "where the Plan is written, whole or not at all")
      ->required();
  command->add_option(
      "--machine", options->machine,
      "a Machine document: transfers are placed ahead of their use, and the time is predicted");
  command
      ->add_option("--minimize", options->minimize,
                   "bytes or time; without a Machine, times of large copies alone")
      ->one_of({"bytes", "time"})
      ->capture_default_str();
  command->add_option("--node-limit", options->node_limit,
                      "nodes that branch and bound may open; 0: none; otherwise by the workload's size");
  add_format(*command, options->common);
  add_baseline(*command, options->baseline);
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer(
      "example: fheres compile samples/explicit-tiles.yaml -o tiles.plan.yaml --budget cuda:0=34MiB");
  command->callback([options, &action] { action = [options] { return compile_workload(*options); }; });
}

}  // namespace fheres::cli
