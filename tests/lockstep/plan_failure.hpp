#pragma once

#include <fmt/format.h>

#include "lockstep/world.hpp"

// How plans read in a log, and what a failed one says.
namespace fheres::lockstep {

inline constexpr const char* kPlan = "residency/plan";
inline constexpr const char* kPlanExecution = "residency/plan-execution";
inline constexpr const char* kStale = "residency/stale";

inline std::vector<Action> all_actions(const Plan& plan) {
  std::vector<Action> actions = plan.reclaim;
  actions.insert(actions.end(), plan.enter.begin(), plan.enter.end());
  actions.insert(actions.end(), plan.prefetch.begin(), plan.prefetch.end());
  actions.insert(actions.end(), plan.exit.begin(), plan.exit.end());
  return actions;
}

inline std::string plan_text(const Plan& plan) {
  std::string text = plan.name + ":";
  const auto add = [&](const char* phase, const std::vector<Action>& actions) {
    text += fmt::format(" {}[", phase);
    for (const Action& action : actions) text += fmt::format(" {},", text_of(action));
    text += " ]";
  };
  add("reclaim", plan.reclaim);
  for (const auto& spec : plan.reservations)
    text += fmt::format(" reserve[{} {}]", spec.at.name(), spec.bytes);
  add("enter", plan.enter);
  add("prefetch", plan.prefetch);
  for (const auto& made : plan.produce)
    text += fmt::format(" produce[v{} {}]", made.value.serial, made.at.name());
  for (const auto& read : plan.reads)
    text += fmt::format(" reads[v{} {}]", read.value.serial, read.at.name());
  add("exit", plan.exit);
  return text;
}

/// What a failed plan says: where it failed, and its cause as an outcome.
struct PlanFailure {
  residency::Phase phase;
  std::size_t index;
  bool attempted;  // the action itself
  Outcome cause;
  residency::PlanReport report;
};
inline std::optional<PlanFailure> failure_of(const Outcome& outcome) {
  if (outcome.code != kPlanExecution) return std::nullopt;
  try {
    std::rethrow_exception(outcome.error);
  } catch (const residency::PlanExecutionError& error) {
    return PlanFailure{error.phase, error.index, error.action.has_value(), outcome_of(error.cause),
                       error.report};
  }
  return std::nullopt;
}

}  // namespace fheres::lockstep
