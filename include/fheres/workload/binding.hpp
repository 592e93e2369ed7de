#pragma once

#include <span>
#include <vector>

#include <fheres/control/metadata.hpp>
#include <fheres/control/policy.hpp>
#include <fheres/control/request.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::workload {

/// Handles of World::values, by ValueIndex. Values that stages produce are announced, so that every value has one.
using Handles = std::span<const residency::HandleId>;

/// What a stage without a manual plan asks the controller for.
control::Request request_of(const Stage& stage, Handles handles);
control::Request request_of(const RequestEntry& request, Handles handles);
/// What a stage's body makes, out of the plan's reservations.
std::vector<residency::Production> productions_of(const Stage& stage, Handles handles);
/// The block that a stage's body works in, out of the plan's reservations; none where it needs none.
std::vector<residency::Workspace> workspace_of(const Stage& stage);
/// The residency plan of a stage with a manual plan, named after the stage.
residency::Plan plan_of(const Stage& stage, Handles handles);

control::DeterministicTieredLRU policy_of(const World& world);
/// Priority and stable key of one value, into the controller's metadata.
void describe(const Value& value, residency::HandleId handle, control::ValueMetadata& metadata);

}  // namespace fheres::workload
