#include "trial.hpp"

#include <utility>

#include <fheres/base/check.hpp>

namespace fheres::control {

using residency::Refusal;
using residency::Transition;

std::optional<Refusal> Trial::refusal_of(const Step& step) const {
  const auto resolved = state_.resolve(action_of(state_, step));
  if (const Refusal* refusal = std::get_if<Refusal>(&resolved)) return *refusal;
  if (std::get<Transition>(resolved).work != Transition::Work::nothing) return std::nullopt;
  return Refusal{.rule = Refusal::Rule::unavailable, .value = step.value, .at = step.at};
}

std::optional<Refusal> Trial::take(const Step& step) {
  if (step.kind == Step::Kind::reserve) {
    if (auto refusal = admit_all(problem_.request, state_, reservations_)) return refusal;
    reserved_ = true;
  } else {
    if (auto refusal = refusal_of(step)) return refusal;
    undo_.push_back(state_.mark(step.value));
    const auto applied = state_.apply(action_of(state_, step));
    FHERES_CHECK(std::holds_alternative<Transition>(applied));
  }
  path_.push_back(step);
  return std::nullopt;
}

void Trial::undo() {
  FHERES_CHECK(!path_.empty());
  if (path_.back().kind == Step::Kind::reserve) {
    for (const residency::ReservationId id : reservations_) state_.release(id);
    reservations_.clear();
    reserved_ = false;
  } else {
    state_.restore(std::move(undo_.back()));
    undo_.pop_back();
  }
  path_.pop_back();
}

}  // namespace fheres::control
