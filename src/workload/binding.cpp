#include <fheres/workload/binding.hpp>

namespace fheres::workload {
namespace {

std::vector<control::Requirement> bind_all(const std::vector<Requirement>& requirements, Handles handles) {
  std::vector<control::Requirement> bound;
  for (const Requirement& item : requirements) bound.push_back({handles[item.value], item.at});
  return bound;
}

std::vector<residency::ReservationSpec> specs_of(const std::vector<Reservation>& reserve) {
  std::vector<residency::ReservationSpec> specs;
  for (const Reservation& item : reserve) specs.push_back(item.spec);
  return specs;
}

}  // namespace

control::Request request_of(const Stage& stage, Handles handles) {
  return {stage.name.text, bind_all(stage.require, handles), specs_of(stage.reserve)};
}

control::Request request_of(const RequestEntry& request, Handles handles) {
  return {request.name.text, bind_all(request.require, handles), specs_of(request.reserve)};
}

std::vector<residency::Production> productions_of(const Stage& stage, Handles handles) {
  std::vector<residency::Production> productions;
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    productions.push_back({handles[stage.outputs[i].value], *stage.at, stage.layout.output_from[i]});
  }
  return productions;
}

std::vector<residency::Workspace> workspace_of(const Stage& stage) {
  if (!stage.layout.workspace_from) return {};
  return {{*stage.layout.workspace_from, stage.layout.workspace_bytes}};
}

residency::Plan plan_of(const Stage& stage, Handles handles) {
  residency::Plan plan;
  plan.name = stage.name.text;
  plan.reservations = specs_of(stage.reserve);
  plan.produce = productions_of(stage, handles);
  plan.workspace = workspace_of(stage);
  plan.reads = bind_reads(stage.require, handles);
  if (stage.plan) {
    plan.reclaim = bind_all(stage.plan->reclaim, handles);
    plan.enter = bind_all(stage.plan->enter, handles);
    plan.prefetch = bind_prefetch(stage.plan->prefetch, handles);
    plan.exit = bind_all(stage.plan->exit, handles);
  }
  return plan;
}

control::DeterministicTieredLRU policy_of(const World& world) {
  return control::DeterministicTieredLRU(world.policy.fallback);
}

void describe(const Value& value, residency::HandleId handle, control::ValueMetadata& metadata) {
  metadata.set(handle, value.priority, value.stable_key);
}

}  // namespace fheres::workload
