#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <fheres/residency/state.hpp>

#include "problem.hpp"

namespace fheres::control {

/// One step on the way to a request.
struct Step {
  enum class Kind {
    evict,    // `value` leaves `at`: dropped, or moved to `to`
    reserve,  // all reservations of the request
    place,    // `value` comes to `at`
  };
  Kind kind = Kind::reserve;
  HandleId value{};
  Location at = Location::pageable_host();
  std::optional<Location> to{};
  friend bool operator==(const Step&, const Step&) = default;
};

residency::Action action_of(const residency::State& now, const Step& step);

/// Admits all of the request's reservations, or none of them and says why.
std::optional<residency::Refusal> admit_all(const Request& request, residency::State& state,
                                            std::vector<residency::ReservationId>& made);

bool endpoints_are_there(const Request& request, const residency::State& state);

/// Whether the evictions are nothing but drops of values that the request does not need. Taking such a drop
/// earlier only lowers charges, and for longer.
bool drops_only(const Problem& problem, const std::vector<Step>& steps);

/// A state that is walked step by step by State's own rules, with the charges that each step reached.
class Run {
 public:
  explicit Run(const Problem& problem) : problem_(&problem), state_(problem.state) {}

  const residency::State& state() const { return state_; }
  const std::vector<Step>& steps() const { return steps_; }

  /// Takes the step, or says why not and changes nothing. An eviction of a value that is not there is taken and
  /// not written down.
  std::optional<residency::Refusal> take(const Step& step);
  /// Takes all; false at the first refusal.
  bool take_all(const std::vector<Step>& steps);

  /// What was charged at a budgeted location during, or right after, a step; in the order of steps. Evictions that
  /// put_drops_first moved have none.
  struct Mark {
    std::size_t step;
    Location at;
    Bytes charged;
  };
  const std::vector<Mark>& marks() const { return marks_; }

  /// Reorders the steps: all evictions first. Only where drops_only holds, so that the state stays the same.
  void put_drops_first();

  bool reserved() const { return reserved_; }
  /// All endpoints are there, and the reservations are admitted.
  bool served() const { return reserved_ && endpoints_are_there(problem_->request, state_); }

 private:
  void mark(Location at);

  const Problem* problem_;
  residency::State state_;
  std::vector<Step> steps_;
  std::vector<Mark> marks_;
  bool reserved_ = false;
};

}  // namespace fheres::control
