#include "residency/plan_run.hpp"

#include <fmt/format.h>

#include <fheres/base/clock.hpp>

#include "residency/transition_runner.hpp"

namespace fheres::residency {

namespace {

void name_values(std::span<const Action> actions, std::vector<HandleId>& into) {
  for (const Action& action : actions) into.push_back(value_of(action));
}

}  // namespace

template <class Simulate>
Explanation PlanRun::explain(const std::string& name, std::vector<HandleId> values,
                             std::span<const ValuePlace> reads, std::optional<std::uint64_t> expected,
                             Simulate run) {
  auto [state, addresses] = [&] {
    const std::lock_guard lock(core_.mutex);
    core_.compare_version(expected);  // R49: before reaping
    core_.reap();
    // What the body reads ends its arrival, if it is one.
    for (const ValuePlace& read : reads)
      if (read.value.manager == core_.id && core_.state.arriving().has(read.value.serial))
        values.push_back(read.value);
    report_ = {};
    report_.plan = name;
    report_.version_before = report_.version_after = core_.state.version();
    report_.start_ns = now_ns();
    return std::pair(core_.state.copy_for(values), core_.layout(values));
  }();
  Explanation told = run(std::move(state), std::move(addresses), Detail::brief);
  // What else would have to slide (R27) costs more, and only matters now; then so does who holds the room.
  for (const Detail detail : {Detail::brief, Detail::full}) {
    if (told.feasible) break;
    auto [all, everywhere] = [&] {
      const std::lock_guard lock(core_.mutex);
      return std::pair(core_.state, core_.layout());
    }();
    told = run(std::move(all), std::move(everywhere), detail);
  }
  return told;
}

Explanation PlanRun::preflight(const Plan& plan, std::optional<std::uint64_t> expected) {
  std::vector<HandleId> values;
  values.reserve(plan.reclaim.size() + plan.enter.size() + plan.prefetch.size() + plan.exit.size() +
                 plan.produce.size());
  for (const auto* actions : {&plan.reclaim, &plan.enter, &plan.prefetch, &plan.exit})
    name_values(*actions, values);
  for (const Production& item : plan.produce) values.push_back(item.value);
  return explain(plan.name, std::move(values), plan.reads, expected,
                 [&](State state, Layout layout, Detail detail) {
                   return simulate(std::move(state), std::move(layout), plan, detail).explanation;
                 });
}

Explanation PlanRun::preflight(const std::string& name, std::span<const Action> list,
                               std::optional<std::uint64_t> expected) {
  std::vector<HandleId> values;
  name_values(list, values);
  return explain(name, std::move(values), {}, expected, [&](State state, Layout layout, Detail detail) {
    return simulate(std::move(state), std::move(layout), name, list, detail).explanation;
  });
}

void PlanRun::accept(const Explanation& told) const {
  if (!told.feasible) throw PlanError(fmt::format("plan '{}' is infeasible: {}", told.plan, told.reason));
  check_streams(streams_, told.actions);
}

void PlanRun::actions(Phase phase, std::span<const Action> list) {
  StreamChoice choice;
  choice.by_destination = &streams_;
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      core_.settle_for(list[i]);  // R23
      report_.actions.push_back({phase, i, run_transition(core_, list[i], choice)});
    } catch (...) {
      fail(phase, i, list[i], std::nullopt);
    }
  }
}

Reservation PlanRun::reserve(std::size_t index, const ReservationSpec& spec) {
  try {
    Reservation token = core_.admit(spec);
    report_.reservations.push_back(token.spec());
    return token;
  } catch (...) {
    fail(Phase::reserve, index, std::nullopt, spec);
  }
}

void PlanRun::finish() {
  report_.end_ns = now_ns();
  const std::lock_guard lock(core_.mutex);
  report_.version_after = core_.state.version();
}

void PlanRun::fail(Phase phase, std::size_t index, std::optional<Action> action,
                   std::optional<ReservationSpec> reservation) {
  const std::exception_ptr cause = std::current_exception();
  finish();
  throw PlanExecutionError(phase, index, std::move(action), std::move(reservation), report_, cause);
}

}  // namespace fheres::residency
