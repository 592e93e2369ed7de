#include <algorithm>

#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/world.hpp"

namespace fheres::lockstep {
namespace {

constexpr const char* kPlan = "residency/plan";
constexpr const char* kPlanExecution = "residency/plan-execution";
constexpr const char* kStale = "residency/stale";

struct BodyFailed : std::runtime_error {
  BodyFailed() : std::runtime_error("the body failed, as asked") {}
};

std::vector<Action> all_actions(const Plan& plan) {
  std::vector<Action> actions = plan.reclaim;
  actions.insert(actions.end(), plan.enter.begin(), plan.enter.end());
  actions.insert(actions.end(), plan.prefetch.begin(), plan.prefetch.end());
  actions.insert(actions.end(), plan.exit.begin(), plan.exit.end());
  return actions;
}

std::string plan_text(const Plan& plan) {
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
std::optional<PlanFailure> failure_of(const Outcome& outcome) {
  if (outcome.code != kPlanExecution) return std::nullopt;
  try {
    std::rethrow_exception(outcome.error);
  } catch (const residency::PlanExecutionError& error) {
    return PlanFailure{error.phase, error.index, error.action.has_value(), outcome_of(error.cause),
                       error.report};
  }
  return std::nullopt;
}

}  // namespace

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
    const bool bounded = staging_was_open_ && peak.at == Location::pinned_host();
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
    if (expected.allowed() && staging_was_open_ && code == kBudget && phase == residency::Phase::exit)
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

void World::open_scope(Random& random) {
  const Plan plan = draw_plan(random);
  bool wrong = false, stale = false;
  const residency::TransferStreams streams = draw_streams(random, wrong);
  const std::optional<std::uint64_t> version = draw_version(random, stale);
  doing_ = plan_text(plan);
  const Forecast forecast = rules_->forecast(plan);
  std::set<std::string> refusals;
  if (wrong) refusals.insert(kArgument);
  if (stale) refusals.insert(kStale);
  if (!forecast.feasible) refusals.insert(kPlan);
  if (!forecast.feasible) doing_ += " (infeasible at " + forecast.where + ")";
  std::optional<residency::Scope> scope;
  const Outcome outcome = attempt([&] {
    scope.emplace(manager_->scope(plan, streams, version));
    scope->enter();
  });
  const std::optional<PlanFailure> failure = failure_of(outcome);
  settle(outcome, refusals, failure ? std::set<std::string>{kPlanExecution} : std::set<std::string>{});
  if (!refusals.empty()) {
    expect(!scope || !scope->open(), "a refused scope is open");
    return;
  }
  expect(outcome.ok() || failure, "a plan that failed while it ran says so with its own error (R42)");
  version_may_grow_ = true;
  LiveScope live{std::move(*scope), plan, {}};
  if (!follow_entry(plan, failure ? failure->report : live.scope.report(), outcome, live.keys)) {
    expect(!live.scope.open(), "a scope whose entry failed is open");
    expect(attempt([&] { live.scope.close(); }).ok(), "closing a consumed scope is not a no-op");  // R42
    return;
  }
  expect(live.scope.open(), "an entered scope is not open");
  scopes_.push_back(std::move(live));
}

/// After exit has run, or failed.
void World::end_scope(LiveScope& live, const Outcome& outcome) {
  expect(!live.scope.open(), "a closed scope is open");
  finish_tickets();
  const std::optional<PlanFailure> failure = failure_of(outcome);
  if (outcome.ok() || failure) follow(live.plan.exit, residency::Phase::exit, live.scope.report(), outcome);
  for (const std::uint64_t key : live.keys) release_in_rules(key);
  live.keys.clear();
  version_may_grow_ = true;
  finish_tickets();  // what exit let arrive may be there already
  check();           // the reservations are gone before the scope is (R42, R43)
  expect(attempt([&] { live.scope.close(); }).ok(), "a second close is not a no-op");
  expect(attempt([&] { live.scope.enter(); }).code == "residency/lifetime-closed",
         "a scope can be entered twice");
}

void World::close_scope(Random& random) {
  if (scopes_.empty()) return;
  auto live = scopes_.begin();
  std::advance(live, static_cast<std::ptrdiff_t>(random.below(scopes_.size())));
  doing_ = plan_text(live->plan);
  const Outcome outcome = attempt([&] { live->scope.close(); });
  settle(outcome, {}, failure_of(outcome) ? std::set<std::string>{kPlanExecution} : std::set<std::string>{});
  end_scope(*live, outcome);
  scopes_.erase(live);
  version_may_grow_ = true;
}

void World::abandon_scope(Random& random) {
  if (scopes_.empty()) return;
  auto live = scopes_.begin();
  std::advance(live, static_cast<std::ptrdiff_t>(random.below(scopes_.size())));
  doing_ = live->plan.name;
  const std::string plan = live->plan.name;
  const std::vector<std::uint64_t> keys = live->keys;
  if (random.chance(2)) {
    live->scope.abandon();
    expect(!live->scope.open(), "an abandoned scope is open");
    scopes_.erase(live);
  } else {  // R44: no exit action, and a warning with the plan's name
    warning_expected_ = true;
    scopes_.erase(live);
    expect(warnings_.size() == 1 && warnings_.front().find(plan) != std::string::npos,
           "an open scope that is destroyed does not warn with its plan's name");
  }
  for (const std::uint64_t key : keys) release_in_rules(key);
  count(kind_, {});
}

/// What a body does with its plan's productions, as far as the addresses allow.
void World::produce(residency::Scope& scope, const Plan& plan) {
  produced_.clear();
  for (const residency::Production& production : plan.produce) {
    const ValueSpec& spec = rules_->values()[production.value.serial].spec;
    residency::Reservation& room =
        scope.reservation(plan.reservations[production.reservation].label, production.at);
    try {
      residency::Allocation block = room.allocate(spec.logical_bytes);
      fill_pattern(block.data(), block.bytes(), contents_[production.value.serial]);
      manager_->adopt(std::move(block), production.at, production.value);
    } catch (const memory::AllocationError&) {
      return;
    }
    produced_.push_back({production.value.serial, production.reservation, spec.logical_bytes});
  }
}

/// What a body does with what exit takes away: reads it in the stage's streams, and lets go without waiting. Exit has
/// to wait for that (R39).
void World::consume(const Plan& plan) {
  consumed_.clear();
  const residency::Snapshot snapshot = manager_->snapshot();
  for (const Action& action : plan.exit) {
    const residency::HandleId value = residency::value_of(action);
    if (value.manager != rules_manager_ || value.serial >= snapshot.values.size()) continue;
    for (const residency::MaterializationSnapshot& there : snapshot.values[value.serial].materializations) {
      if (!there.at.is_cuda()) continue;
      const std::size_t stream = there.at.device() == 0 ? 1 : 3;
      body_reads_ = true;
      residency::Lease lease = manager_->acquire({value}, there.at, streams_[stream].stream);
      const residency::BlockView view = lease.view(value);
      const std::uint64_t content = contents_[value.serial];
      machine_->enqueue(streams_[stream].stream, [late = late_readers_, view, content] {
        if (!has_pattern(view.data, view.spec->logical_bytes, content)) {
          late->push_back("a reader of a body found something else");
        }
      });
      lease.release();
      body_reads_ = false;
      consumed_.push_back(
          {{{stream, machine_->submitted(streams_[stream].stream)}}, {value.serial}, there.at});
    }
  }
}

void World::run_scope(Random& random) {  // R43
  const Plan plan = draw_plan(random);
  const bool body_fails = random.chance(3);
  doing_ = plan_text(plan) + (body_fails ? " with a failing body" : "");
  const Forecast forecast = rules_->forecast(plan);
  produced_.clear();
  consumed_.clear();
  residency::Scope scope = manager_->scope(plan);
  bool entered = false, body_broke = false;
  const Outcome outcome = attempt([&] {
    scope.run([&](residency::Scope& open) {
      entered = true;
      expect(open.open(), "the body runs in a scope that is not open");
      for (const auto& spec : plan.reservations) {
        expect(open.reservation(spec.label, spec.at).available() == round_up_to_granule(spec.bytes),
               "a plan's reservation has another size");
      }
      if (body_fails) throw BodyFailed();
      produce(open, plan);
      try {
        consume(plan);
      } catch (const memory::DeviceError&) {  // ordering a reader after an arrival can fail
        body_broke = true;
        body_reads_ = false;
        throw;
      }
    });
  });
  version_may_grow_ = true;
  if (!entered) {
    const std::optional<PlanFailure> failure = failure_of(outcome);
    const std::set<std::string> refusals =
        forecast.feasible ? std::set<std::string>{} : std::set<std::string>{kPlan};
    settle(outcome, refusals, failure ? std::set<std::string>{kPlanExecution} : std::set<std::string>{});
    expect(!outcome.ok(), "run returned, and the body did not run");
    if (!forecast.feasible) return;
    expect(failure.has_value(), "a plan that failed while it ran says so with its own error (R42)");
    std::vector<std::uint64_t> keys;
    expect(!follow_entry(plan, failure->report, outcome, keys), "entry failed, and the rules see no failure");
    return;
  }
  expect(forecast.feasible, "a plan was entered that the rules refuse at " + forecast.where);
  count(kind_, {});
  LiveScope live{std::move(scope), plan, {}};
  expect(follow_entry(plan, live.scope.report(), {}, live.keys), "entry");
  for (const Produced& made : produced_) {
    const std::uint64_t block = next_key_++;
    rules_->carve(block, live.keys[made.reservation], made.bytes);
    rules_->adopt_announced(made.serial, block);
    const residency::ReservationId room = shadow_reservations_.at(live.keys[made.reservation]);
    expect(!shadow_->adopt({rules_manager_, made.serial}, plan.reservations[made.reservation].at, made.bytes,
                           room),
           "state refuses what a body produced");
  }
  for (const Ticket& ticket : consumed_) {
    const std::uint64_t key = next_key_++;
    const residency::HandleId value{rules_manager_, ticket.serials.front()};
    rules_->protect(value.serial, ticket.at, false, 1);
    rules_->to_pending(value.serial, ticket.at, key);
    shadow_->protect(value, ticket.at, residency::State::Token::pending);
    tickets_.emplace(key, ticket);
  }
  const bool as_planned = produced_.size() == plan.produce.size();
  Outcome exit = outcome;
  if (body_broke) expect(fault_hit() && outcome.code == kDevice, "a body broke with " + outcome.text);
  if (body_fails)
    expect(outcome.text == BodyFailed().what(), "the body's failure is not the primary one: " + outcome.text);
  if (body_fails || body_broke) {
    exit = live.scope.exit_error() ? outcome_of(live.scope.exit_error()) : Outcome();
  }
  expect(exit.ok() || failure_of(exit) || fault_hit(), "exit failed with " + exit.text);
  if (live.scope.explanation() && exit.ok() && as_planned)
    check_peaks(*live.scope.explanation(), live.scope.report());
  if (live.scope.explanation())
    expect(live.scope.explanation()->feasible, "entered with an infeasible explanation");
  end_scope(live, exit);
}

void World::refused_close() {  // R63
  if (!rules_->any_token()) return;
  const Outcome outcome = attempt([&] { manager_->close(); });
  const bool injected = driver_->failures() != failures_before_ && outcome.code == kDevice;
  settle(outcome, injected ? std::set<std::string>{kDevice} : std::set<std::string>{kInUse}, {});
  finish_tickets();
  expect(injected || (tickets_.empty() && arrivals_.empty()), "close did not wait for pending consumers");
  expect(!manager_->closed(), "a refused close closed the manager");
}

}  // namespace fheres::lockstep
