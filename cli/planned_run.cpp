#include "planned_run.hpp"

#include <memory>

#include <fmt/format.h>

#include <fheres/workload/planned.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "document.hpp"

namespace fheres::cli {
namespace {

/// What the plan promises on the machine that is known, if one is. False: the machine cannot be read.
bool predict(const workload::Program& program, const workload::Workload& workload,
             const std::string& machine_file, const CommonOptions& common, report::PlanContext& plan) {
  std::shared_ptr<const workload::Machine> machine =
      program.world.machine ? program.world.machine : workload.world.machine;
  std::optional<workload::Machine> given;
  if (!load_machine_or_report(machine_file, common, given)) return false;
  if (given) machine = std::make_shared<const workload::Machine>(std::move(*given));
  const workload::Rehearsal rehearsal = workload::rehearse(program);
  plan.moved_bytes = rehearsal.moved_bytes;
  if (!machine || rehearsal.answer != workload::Answer::feasible) return true;
  plan.machine = machine->name.empty() ? "of the document" : machine->name;
  const compile::StageCosts costs = compile::costs_of(program, &workload, *machine, &plan.unknown_operations);
  plan.forecast = compile::forecast(program, rehearsal, *machine, costs);
  return true;
}

}  // namespace

std::optional<documents::Diagnostic> stale(const workload::Program& program, const std::string& workload_file,
                                           const std::string& sha256) {
  if (!program.workload) {
    return documents::Diagnostic{
        "FHR0521", program.metadata.name.place,
        fmt::format("plan `{}` names no `workload`, so it is not known to be of {}",
                    program.metadata.name.text, workload_file),
        fmt::format("`workload: {{file: {}, sha256: {}}}` says that it is", workload_file, sha256)};
  }
  if (program.workload->sha256 == sha256) return std::nullopt;
  return documents::Diagnostic{
      "FHR0521", program.workload->place,
      fmt::format("plan `{}` was made for a workload with sha256 {}, and {} has sha256 {}",
                  program.metadata.name.text, program.workload->sha256, workload_file, sha256),
      "compile it again"};
}

std::optional<PlannedRun> follow_plan(const workload::Workload& workload, const PlanFiles& files,
                                      const PlanningOptions& planning, const CommonOptions& common) {
  documents::Loaded loaded = documents::load(files.plan, {planning.allow_outside, budgets_of(planning)});
  if (!loaded.model) {
    report_invalid(files.plan, loaded, common);
    return std::nullopt;
  }
  const auto* program = std::get_if<workload::Program>(&*loaded.model);
  if (program == nullptr) {
    refuse_kind(files.plan, *loaded.model, "cannot be followed, expected a Plan", common);
    return std::nullopt;
  }
  if (auto problem = stale(*program, files.workload, files.workload_sha256)) {
    loaded.diagnostics.push_back(std::move(*problem));
  } else {
    workload::Planned planned = workload::follow(workload, *program);
    if (planned.workload) {
      report::PlanContext plan;
      plan.document = files.plan;
      plan.sha256 = hash_of(loaded, files.plan);
      plan.name = program->metadata.name.text;
      if (!predict(*program, *planned.workload, files.machine, common, plan)) return std::nullopt;
      return PlannedRun{std::move(*planned.workload), std::move(plan)};
    }
    loaded.diagnostics = std::move(planned.problems);
  }
  report_problems(files.plan, std::move(loaded.diagnostics), common);
  return std::nullopt;
}

std::optional<workload::Workload> load_in_variants(const std::string& file, const std::string& plan,
                                                   const PlanningOptions& planning,
                                                   const CommonOptions& common) {
  std::string sha256;
  std::optional<workload::Workload> workload = load_workload(file, planning, common, &sha256);
  if (!workload || plan.empty()) return workload;
  std::optional<PlannedRun> planned = follow_plan(*workload, {file, plan, {}, sha256}, planning, common);
  if (!planned) return std::nullopt;
  return std::move(planned->workload);
}

}  // namespace fheres::cli
