#include "run.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <fheres/base/check.hpp>

namespace fheres::control {

using residency::Refusal;
using residency::ReservationId;
using residency::State;
using residency::Transition;

residency::Action action_of(const State& now, const Step& step) {
  FHERES_CHECK(step.kind != Step::Kind::reserve);
  if (step.kind == Step::Kind::place) return placement(now, step.value, step.at);
  if (step.to) return residency::Move{step.value, *step.to, step.at};
  return residency::Drop{step.value, step.at};
}

std::optional<Refusal> admit_all(const Request& request, State& state, std::vector<ReservationId>& made) {
  for (const residency::ReservationSpec& wanted : request.reserve) {
    const auto result = state.reserve(wanted);
    if (const Refusal* refusal = std::get_if<Refusal>(&result)) {
      for (const ReservationId id : made) state.release(id);
      made.clear();
      return *refusal;
    }
    made.push_back(std::get<ReservationId>(result));
  }
  return std::nullopt;
}

bool endpoints_are_there(const Request& request, const State& state) {
  return std::all_of(request.require.begin(), request.require.end(), [&](const Requirement& wanted) {
    return state.record(wanted.value).at(wanted.at) != nullptr;
  });
}

void Run::mark(Location at) {
  if (const residency::Account* account = state_.account(at); account != nullptr && account->budget) {
    way_.marks.push_back({way_.steps.size(), at, account->used + account->reserved});
  }
}

std::optional<Refusal> Run::take(const Step& step) {
  if (step.kind == Step::Kind::reserve) {
    std::vector<ReservationId> made;
    if (auto refusal = admit_all(problem_->request, state_, made)) return refusal;
    for (const residency::ReservationSpec& wanted : problem_->request.reserve) mark(wanted.at);
    reserved_ = true;
    way_.steps.push_back(step);
    return std::nullopt;
  }
  if (step.kind == Step::Kind::evict && state_.record(step.value).at(step.at) == nullptr) return std::nullopt;
  const auto begun = state_.begin(action_of(state_, step));
  if (const Refusal* refusal = std::get_if<Refusal>(&begun)) return *refusal;
  const Transition& transition = std::get<Transition>(begun);
  if (transition.charge != 0) mark(*transition.destination);
  if (transition.temporary != 0) mark(*transition.source);
  if (transition.staging != 0) mark(Location::pinned_host());
  state_.commit(transition, transition.bytes);
  if (step.kind == Step::Kind::evict) mark(step.at);
  way_.steps.push_back(step);
  return std::nullopt;
}

bool drops_only(const Problem& problem, const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.kind != Step::Kind::evict || (!step.to && !problem.requested(step.value));
  });
}

void put_drops_first(const Problem& problem, Way& way) {
  const auto is_eviction = [](const Step& step) { return step.kind == Step::Kind::evict; };
  if (std::is_partitioned(way.steps.begin(), way.steps.end(), is_eviction)) return;
  // Backwards, so that each mark knows how much leaves its location after it, and now left before it.
  std::array<Bytes, Location::kCount> later{};
  std::vector<Mark> marks;
  std::size_t next = way.marks.size();
  std::size_t place = way.steps.size();
  for (std::size_t i = way.steps.size(); i-- > 0;) {
    const Step& step = way.steps[i];
    const bool evicts = is_eviction(step);
    if (!evicts) --place;
    for (; next > 0 && way.marks[next - 1].step == i; --next) {
      const Mark& old = way.marks[next - 1];
      if (!evicts) marks.push_back({place, old.at, old.charged - later[old.at.index()]});
    }
    if (evicts) later[step.at.index()] += problem.state.record(step.value).spec->storage_bytes;
  }
  std::reverse(marks.begin(), marks.end());
  way.marks = std::move(marks);
  std::stable_partition(way.steps.begin(), way.steps.end(), is_eviction);
}

void Run::place_the_rest() {
  for (const Requirement& wanted : problem_->request.require) {
    const Step place{.kind = Step::Kind::place, .value = wanted.value, .at = wanted.at};
    if (std::find(way_.steps.begin(), way_.steps.end(), place) == way_.steps.end()) take(place);
  }
}

bool Run::take_all(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (take(step)) return false;
  }
  return true;
}

}  // namespace fheres::control
