#pragma once

#include <cstdint>
#include <optional>
#include <utility>
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

/// What was charged at a budgeted location during, or right after, a step.
struct Mark {
  std::size_t step = 0;
  Location at = Location::pageable_host();
  Bytes charged = 0;
};

/// Steps that serve a request, and the charges that they reach, in the order of steps.
struct Way {
  std::vector<Step> steps;
  std::vector<Mark> marks;
};

/// Whether the evictions are nothing but drops of values that the request does not need. Taking such a drop
/// earlier only lowers charges, and for longer.
bool drops_only(const Problem& problem, const std::vector<Step>& steps);

/// All evictions first, otherwise in the same order. Only where drops_only holds; the evictions lose their marks.
void put_drops_first(const Problem& problem, Way& way);

/// A state that is walked step by step by State's own rules.
class Run {
 public:
  explicit Run(const Problem& problem) : problem_(&problem), state_(problem.state) {
    way_.steps.reserve(2 * problem.request.require.size() + 8);
    way_.marks.reserve(4 * problem.request.require.size() + 8);
  }

  const residency::State& state() const { return state_; }
  /// The steps that were taken.
  const Way& way() const { return way_; }
  Way take_way() { return std::move(way_); }

  /// Takes the step, or says why not and changes nothing. An eviction of a value that is not there is taken and
  /// not written down.
  std::optional<residency::Refusal> take(const Step& step);
  /// Takes all; false at the first refusal.
  bool take_all(const std::vector<Step>& steps);
  /// Places the endpoints that no step placed, which changes nothing where all are there: a plan names all that it
  /// needs, and what left for one of them may then turn out to be needless.
  void place_the_rest();
  /// All endpoints are there, and the reservations are admitted.
  bool served() const { return reserved_ && endpoints_are_there(problem_->request, state_); }

 private:
  void mark(Location at);

  const Problem* problem_;
  residency::State state_;
  Way way_;
  bool reserved_ = false;
};

}  // namespace fheres::control
