#include "answer.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include <fheres/runtime/live_world.hpp>

#include "baseline.hpp"
#include "ci_output.hpp"
#include "device.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

control::DecideOptions decide_options(const PlanningOptions& planning) {
  control::DecideOptions options;
  options.search_state_limit = planning.search_state_limit;
  return options;
}

workload::Rehearsal rehearse(const documents::Model& model, const PlanningOptions& planning,
                             const workload::Witness* witness) {
  const control::DecideOptions options = decide_options(planning);
  if (const auto* program = std::get_if<workload::Program>(&model))
    return workload::rehearse(*program, witness);
  if (const auto* requests = std::get_if<workload::RequestSet>(&model))
    return workload::rehearse(*requests, options, witness);
  return workload::rehearse(std::get<workload::Workload>(model), options, witness);
}

/// One more than the largest cuda index that the document says or the rehearsal found.
int devices_of(const workload::World& world, const workload::Rehearsal& rehearsal) {
  int needed = 0;
  const auto count = [&](memory::Location at) {
    if (at.is_cuda()) needed = std::max(needed, at.device() + 1);
  };
  for (const workload::LocationEntry& entry : world.locations) count(entry.at);
  for (const workload::Peak& peak : rehearsal.peaks) count(peak.at);
  return needed;
}

/// The same from a manager that holds the values on a device. Nothing, where that cannot be had.
std::optional<workload::Rehearsal> rehearse_live(const documents::Model& model, const AnswerOptions& options,
                                                 const workload::Rehearsal& simulated) {
  const auto choice = device_choice(options.devices);
  if (!choice) return std::nullopt;
  if (const auto* workload = std::get_if<workload::Workload>(&model);
      workload != nullptr && !files_are_there(*workload, options.file, options.common))
    return std::nullopt;
  const workload::World& world =
      std::visit([](const auto& item) -> const workload::World& { return item.world; }, model);
  const runtime::Machine machine = runtime::select_machine(*choice, world, devices_of(world, simulated));
  if (!machine.note.empty() && !options.common.quiet) fmt::print(stderr, "{}\n", machine.note);
  runtime::LiveWorld live(world, machine);
  const workload::Witness witness = live.witness();
  return rehearse(model, options.planning, &witness);
}

}  // namespace

workload::Rehearsal rehearse(const documents::Model& model, const PlanningOptions& planning) {
  return rehearse(model, planning, nullptr);
}

void print(const report::LongAnswer& json) {
  report::render(json, [](std::string_view piece) { fmt::print("{}", piece); });
}

ExitCode exit_code_of(const workload::Rehearsal& rehearsal) {
  switch (rehearsal.answer) {
    case workload::Answer::feasible:
      return ExitCode::done;
    case workload::Answer::infeasible:
      return ExitCode::no;
    case workload::Answer::inconclusive:
      return ExitCode::inconclusive;
  }
  return ExitCode::failed;
}

void add_answer_options(Command& command, AnswerOptions& options) {
  add_format(command, options.common);
  add_baseline(command, options.baseline);
  add_device(
      command, options.devices,
      "hold the values there too and answer from that: auto, emulated, cuda:N; the answer is the same");
  add_common(command, options.common);
  add_planning(command, options.planning);
}

ExitCode answer(const Answer& how, const AnswerOptions& options, const documents::Model& model) {
  std::optional<Baseline> baseline = Baseline::read(options.baseline, name_of(model));
  if (!baseline) return ExitCode::invalid;
  workload::Rehearsal rehearsal = rehearse(model, options.planning);
  if (!options.devices.empty()) {
    std::optional<workload::Rehearsal> live = rehearse_live(model, options, rehearsal);
    if (!live) return ExitCode::invalid;
    rehearsal = std::move(*live);
  }
  report::LongAnswer json;
  if (options.common.json || !options.baseline.empty())
    json = how.json(rehearsal, name_of(model), options.file);
  const ExitCode code = baseline->judge(exit_code_of(rehearsal), json.head);
  if (is_for_ci(options.common)) {
    std::vector<report::Case> cases = report::cases_of(rehearsal, parts_of(model), place_of(model));
    baseline->add_case(cases, place_of(model));
    print_for_ci(options.common, how.command, name_of(model), cases);
  } else if (options.common.json) {
    print(json);
  } else if (!options.common.quiet) {
    fmt::print("{}", how.text(model, rehearsal));
  }
  baseline->say();
  return code;
}

}  // namespace fheres::cli
