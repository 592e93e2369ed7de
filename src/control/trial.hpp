#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "run.hpp"

namespace fheres::control {

/// A state that a search walks forth and back: each step costs what it changes.
class Trial {
 public:
  Trial(const Problem& problem, const residency::State& start) : problem_(problem), state_(start) {}

  const residency::State& state() const { return state_; }
  bool reserved() const { return reserved_; }
  /// The steps from the start to here.
  const std::vector<Step>& path() const { return path_; }

  /// Takes the step, or says why not and changes nothing. A step that would do nothing is refused as unavailable.
  std::optional<residency::Refusal> take(const Step& step);
  /// Whether it could be taken; changes nothing. Not for reservations.
  std::optional<residency::Refusal> refusal_of(const Step& step) const;
  /// Takes the newest step back.
  void undo();
  bool served() const { return reserved_ && endpoints_are_there(problem_.request, state_); }

 private:
  const Problem& problem_;
  residency::State state_;
  std::vector<Step> path_;
  std::vector<residency::State::Undo> undo_;  // one for each step but the reservations
  std::vector<residency::ReservationId> reservations_;
  bool reserved_ = false;
};

}  // namespace fheres::control
