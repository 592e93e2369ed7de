#include "planned_run.hpp"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/documents/machine_file.hpp>
#include <fheres/workload/planned.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "document.hpp"

namespace fheres::cli {
namespace {

/// Whether the plan is of this version of the workload; says so where it is not.
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

/// What the plan promises on the machine that is known, if one is. False: the machine cannot be read.
bool predict(const workload::Program& program, const workload::Workload& workload,
             const std::string& machine_file, const CommonOptions& common, report::PlanContext& plan) {
  std::shared_ptr<const workload::Machine> machine =
      program.world.machine ? program.world.machine : workload.world.machine;
  if (!machine_file.empty()) {
    documents::Loaded loaded = documents::load_machine(machine_file);
    if (!loaded.machine) {
      print_diagnostics(loaded, common);
      return false;
    }
    machine = std::make_shared<const workload::Machine>(std::move(*loaded.machine));
  }
  const workload::Rehearsal rehearsal = workload::rehearse(program);
  plan.moved_bytes = rehearsal.moved_bytes;
  if (!machine || rehearsal.answer != workload::Answer::feasible) return true;
  plan.machine = machine->name.empty() ? "of the document" : machine->name;
  const compile::StageCosts costs = compile::costs_of(program, &workload, *machine, &plan.unknown_operations);
  plan.forecast = compile::forecast(program, rehearsal, *machine, costs);
  return true;
}

}  // namespace

std::optional<PlannedRun> follow_plan(const workload::Workload& workload, const PlanFiles& files,
                                      const PlanningOptions& planning, const CommonOptions& common) {
  documents::Loaded loaded = documents::load(files.plan, {planning.allow_outside, budgets_of(planning)});
  if (!loaded.model) {
    print_diagnostics(loaded, common);
    return std::nullopt;
  }
  const auto* program = std::get_if<workload::Program>(&*loaded.model);
  if (program == nullptr) {
    fmt::print(stderr, "fheres: {} is a {}, expected a Plan\n", files.plan,
               documents::kind_of(*loaded.model));
    return std::nullopt;
  }
  if (auto problem = stale(*program, files.workload, hash_of_file(files.workload))) {
    loaded.diagnostics.push_back(std::move(*problem));
  } else {
    workload::Planned planned = workload::follow(workload, *program);
    if (planned.workload) {
      report::PlanContext plan;
      plan.document = files.plan;
      plan.sha256 = hash_of_file(files.plan);
      plan.name = program->metadata.name.text;
      if (!predict(*program, *planned.workload, files.machine, common, plan)) return std::nullopt;
      return PlannedRun{std::move(*planned.workload), std::move(plan)};
    }
    loaded.diagnostics = std::move(planned.problems);
  }
  documents::sort_by_place(loaded.diagnostics);
  print_diagnostics(loaded, common);
  return std::nullopt;
}

std::optional<workload::Workload> load_in_variants(const std::string& file, const std::string& plan,
                                                   const PlanningOptions& planning,
                                                   const CommonOptions& common) {
  std::optional<workload::Workload> workload = load_workload(file, planning, common);
  if (!workload || plan.empty()) return workload;
  std::optional<PlannedRun> planned = follow_plan(*workload, {file, plan, {}}, planning, common);
  if (!planned) return std::nullopt;
  return std::move(planned->workload);
}

}  // namespace fheres::cli
