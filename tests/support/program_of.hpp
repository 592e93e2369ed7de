#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fheres/workload/binding.hpp>
#include <fheres/workload/program.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::test {

/// What a rehearsal of the workload does, stage by stage, as a Program: what its policy decided, or its manual plans.
inline workload::Program program_of(const workload::Workload& workload) {
  const workload::Rehearsal rehearsal = workload::rehearse(workload);
  if (rehearsal.answer != workload::Answer::feasible) throw std::runtime_error(rehearsal.reason);
  workload::Program program{workload.metadata, {}, workload.world, {}};
  program.world.parameters.reset();
  const auto index_of = [&](residency::HandleId handle) {
    return *workload.world.find(rehearsal.state.record(handle).spec->name);
  };
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const workload::Stage& stage = workload.stages[s];
    workload::ProgramStage& made = program.stages.emplace_back();
    made.name = stage.name;
    made.reserve = stage.reserve;
    made.release = stage.release;
    if (stage.layout.workspace_from)
      made.workspace.push_back({*stage.layout.workspace_from, stage.layout.workspace_bytes});
    for (std::size_t i = 0; i < stage.outputs.size(); ++i)
      made.produce.push_back(
          {stage.outputs[i].value, *stage.at, stage.layout.output_from[i], stage.name.place});
    for (const residency::ActionExplanation& item : rehearsal.stages[s].explanation.actions) {
      workload::NamedAction action;
      action.value = index_of(residency::value_of(item.action));
      action.place = stage.name.place;
      if (const auto* ensure = std::get_if<residency::Ensure>(&item.action)) {
        action.at = ensure->at;
        action.from = ensure->from;
      } else if (const auto* move = std::get_if<residency::Move>(&item.action)) {
        action.verb = workload::NamedAction::Verb::move;
        action.at = move->to;
        action.from = move->from;
      } else {
        action.verb = workload::NamedAction::Verb::drop;
        action.at = std::get<residency::Drop>(item.action).at;
      }
      auto& list = item.phase == residency::Phase::reclaim    ? made.reclaim
                   : item.phase == residency::Phase::enter    ? made.enter
                   : item.phase == residency::Phase::prefetch ? made.prefetch
                                                              : made.exit;
      list.push_back(action);
    }
  }
  return program;
}

}  // namespace fheres::test
