// Plans that are explained and executed, and what their reports are held against.
#include <algorithm>

#include <fmt/format.h>

#include "lockstep/plan_failure.hpp"

namespace fheres::lockstep {

std::optional<std::uint64_t> World::draw_version(Random& random, bool& stale) const {
  stale = false;
  if (random.chance(2)) return std::nullopt;
  const std::uint64_t actual = manager_->state_version();
  if (!random.chance(5)) return actual;
  stale = true;
  return actual + 1 - random.below(2) * 2;
}

void World::check_explanation(const residency::Explanation& explanation, const Forecast& forecast,
                              const std::vector<Action>& actions) const {
  expect(explanation.feasible == forecast.feasible,
         fmt::format("the plan is {}feasible by the rules{}{}, and explain says `{}`",
                     forecast.feasible ? "" : "in", forecast.where.empty() ? "" : " at ", forecast.where,
                     explanation.reason));
  expect(explanation.feasible == explanation.reason.empty(), "an infeasible plan has a reason, and no other");
  expect(explanation.actions.size() == actions.size(), "explain misses actions");
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const residency::ActionExplanation& said = explanation.actions[i];
    expect(said.action == actions[i], "explain tells of another action");
    if (i >= forecast.actions.size()) {
      expect(!said.executable, fmt::format("explain reaches action {}, the rules do not", i));
      continue;
    }
    const Expectation& expected = forecast.actions[i];
    expect(said.executable, fmt::format("explain stops at action {}: {}", i, said.reason));
    expect(said.no_op == (expected.work == Expectation::Work::nothing),
           fmt::format("explain: no-op of action {}", i));
    expect(said.bytes == expected.bytes,
           fmt::format("explain: expected {} B for action {}, got {} B", expected.bytes, i, said.bytes));
    expect(said.compacted == expected.compacted,
           fmt::format("explain: expected {} B compacted for action {}, got {} B", expected.compacted, i,
                       said.compacted));
    expect(said.expanded_from.has_value() == expected.backing.has_value() &&
               (!expected.backing || said.temporary_bytes == expected.temporary),
           fmt::format("explain expands action {} otherwise", i));
    if (expected.destination) {
      expect(said.destination == expected.destination && said.source == expected.source,
             fmt::format("explain resolves other endpoints for action {}", i));
    }
  }
  for (const residency::LocationExplanation& said : explanation.locations) {
    expect(said.charged_before == rules_->charged(said.at),
           fmt::format("explain: expected {} B before at {}, got {} B", rules_->charged(said.at),
                       said.at.name(), said.charged_before));
  }
  if (!forecast.feasible) return;
  for (const auto& [at, peak] : forecast.peaks) {
    const residency::LocationExplanation* said = explanation.at(at);
    const Bytes said_peak = said != nullptr ? said->peak_charged : 0;
    const Bytes said_after = said != nullptr ? said->charged_after : 0;
    expect(said_peak == peak,
           fmt::format("explain: expected a peak of {} B at {}, got {} B", peak, at.name(), said_peak));
    expect(said_after == forecast.after.at(at), fmt::format("explain: expected {} B after at {}, got {} B",
                                                            forecast.after.at(at), at.name(), said_after));
  }
}

/// What was predicted is what happened (only where nothing else happened meanwhile).
void World::check_peaks(const residency::Explanation& explanation,
                        const residency::PlanReport& report) const {
  for (const residency::LocationPeak& peak : report.peaks) {
    const residency::LocationExplanation* said = explanation.at(peak.at);
    const Bytes predicted = said != nullptr ? said->peak_charged : 0;
    const bool bounded = open_charges_.count(peak.at) != 0;
    expect(bounded ? peak.charged <= predicted : peak.charged == predicted,
           fmt::format("{}: predicted a peak of {} B, it was {} B", peak.at.name(), predicted, peak.charged));
    const bool loads = std::any_of(report.actions.begin(), report.actions.end(), [](const auto& action) {
      return action.transition.work ==
             residency::Transition::Work::load;  // of a size that nobody can predict
    });
    const Bytes slid = said != nullptr ? said->compacted : 0;
    expect(loads || addresses_unknown_ || peak.compacted == slid,
           fmt::format("{}: predicted {} B compacted, it was {} B", peak.at.name(), slid, peak.compacted));
  }
}

/// Goes through one phase as the report tells it. False where it failed.
bool World::follow(const std::vector<Action>& actions, residency::Phase phase,
                   const residency::PlanReport& report, const Outcome& outcome) {
  std::vector<const residency::ActionReport*> committed;
  for (const residency::ActionReport& action : report.actions) {
    if (action.phase == phase) committed.push_back(&action);
  }
  const std::optional<PlanFailure> failure = failure_of(outcome);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string where = fmt::format("{} {}", residency::name(phase), i);
    if (i >= committed.size() && failure && failure->phase == phase && failure->index == i) {
      const std::vector<std::uint64_t> before = rules_->arrivals_in_the_way(actions[i]);
      const bool waiting_failed =
          std::any_of(before.begin(), before.end(), [&](std::uint64_t key) { return is_under_way(key); });
      if (waiting_failed) {  // the action itself was not begun
        expect(failure->cause.code == kDevice && driver_->failures() != failures_before_,
               where + " did not settle an arrival first");
        return false;
      }
    }
    settle_in_the_way(actions[i]);
    const Expectation expected = rules_->judge(actions[i]);
    const std::set<std::string> failures =
        expected.allowed() ? failures_of(actions[i], expected) : std::set<std::string>();
    if (i < committed.size()) {
      expect(committed[i]->index == i, where + " is reported as another index");
      expect(expected.allowed(), where + " was done, and the rules refuse it");
      expect(failures.empty() || addresses_unknown_, where + " was done, and could not have been");
      check_report(actions[i], expected, committed[i]->transition);
      carry_out(actions[i], expected, committed[i]->transition);
      continue;
    }
    expect(failure.has_value() && failure->phase == phase && failure->index == i,
           where + " is missing in the report");
    const std::string& code = failure->cause.code;
    // Its staging may have been charged still when this action was begun.
    if (expected.allowed() && !open_charges_.empty() && code == kBudget && phase == residency::Phase::exit)
      return false;
    const bool injected = driver_->failures() != failures_before_ && (code == kDevice || code == kAllocation);
    const bool in_pieces = addresses_unknown_ && code == kBudget;
    if (!failure->attempted) {  // waiting for consumers failed
      expect(injected && phase == residency::Phase::exit,
             where + " was not attempted: " + failure->cause.text);
    } else if (expected.allowed()) {
      expect(failures.count(code) != 0 || injected || in_pieces,
             fmt::format("{} failed with {} ({}), and the rules know no cause", where, code,
                         failure->cause.text));
      give_up(actions[i], expected);
    } else {
      expect(phase == residency::Phase::exit,
             where + " failed after a good preflight: " + failure->cause.text);
      expect(expected.refusals.count(code) != 0, fmt::format("{} failed with {}", where, code));
      // Exit waits for consumers first, so only what nobody has released is in the way (R39).
      const RuleValue& value = rules_->values()[residency::value_of(actions[i]).serial];
      bool held = code != kInUse || fault_hit();
      for (const auto& [at, copy] : value.copies) held = held || copy.use + copy.hold != 0;
      expect(held, where + " failed for a consumer that exit has to wait for");
    }
    return false;
  }
  expect(committed.size() <= actions.size(), "the report has actions that the plan has not");
  return true;
}

bool World::follow_entry(const Plan& plan, const residency::PlanReport& report, const Outcome& outcome,
                         std::vector<std::uint64_t>& keys) {
  if (!follow(plan.reclaim, residency::Phase::reclaim, report, outcome)) return false;
  for (const residency::ReservationSpec& spec : plan.reservations) {
    keys.push_back(next_key_++);
    expect(rules_->admits(spec.at, round_up_to_granule(spec.bytes)), "a reservation overshoots its budget");
    rules_->reserve(keys.back(), spec.at, spec.bytes, spec.label);
    shadow_reservations_[keys.back()] = std::get<residency::ReservationId>(shadow_->reserve(spec));
  }
  if (follow(plan.enter, residency::Phase::enter, report, outcome) &&
      follow(plan.prefetch, residency::Phase::prefetch, report, outcome)) {
    return true;
  }
  for (const std::uint64_t key : keys) release_in_rules(key);  // R42
  keys.clear();
  return false;
}

void World::explain(Random& random) {
  const Plan plan = draw_plan(random);
  doing_ = plan_text(plan);
  bool stale = false;
  const std::uint64_t before = manager_->state_version();
  const std::optional<std::uint64_t> version = draw_version(random, stale);
  residency::Explanation explanation;
  const Outcome outcome = attempt([&] { explanation = manager_->explain(plan, version); });
  const std::set<std::string> refusals = stale ? std::set<std::string>{kStale} : std::set<std::string>{};
  if (settle(outcome, refusals, {}))
    check_explanation(explanation, rules_->forecast(plan), all_actions(plan));
  expect(manager_->state_version() == before, "explain changed the version");  // R40, R48
}

void World::execute(Random& random) {  // R45
  Rules state = *rules_;
  const std::vector<Action> actions = draw_actions(random, 4, state, !random.chance(4));
  bool wrong = false, stale = false;
  const residency::TransferStreams streams = draw_streams(random, wrong);
  const std::optional<std::uint64_t> version = draw_version(random, stale);
  Plan shown;
  shown.name = "raw";
  shown.enter = actions;
  doing_ = plan_text(shown);
  const Forecast forecast = rules_->forecast(actions);
  std::set<std::string> refusals;
  if (wrong) refusals.insert(kArgument);
  if (stale) refusals.insert(kStale);
  if (!forecast.feasible) refusals.insert(kPlan);
  const residency::Explanation explanation = manager_->explain(Plan{"raw", {}, {}, actions, {}});
  check_explanation(explanation, forecast, actions);
  residency::PlanReport report;
  const Outcome outcome =
      attempt([&] { report = manager_->execute_actions(actions, "raw", streams, version); });
  const std::optional<PlanFailure> failure = failure_of(outcome);
  if (failure) report = failure->report;
  settle(outcome, refusals, failure ? std::set<std::string>{kPlanExecution} : std::set<std::string>{});
  if (!refusals.empty()) return;
  version_may_grow_ = true;  // actions may undo each other
  expect(outcome.ok() || failure, "a plan that failed while it ran says so with its own error (R42)");
  if (follow(actions, residency::Phase::execute, report, outcome)) check_peaks(explanation, report);
}

}  // namespace fheres::lockstep
