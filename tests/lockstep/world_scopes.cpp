// Scopes: opened, closed, abandoned, run around a body (R39 to R44).
#include <algorithm>

#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/plan_failure.hpp"

namespace fheres::lockstep {
namespace {

struct BodyFailed : std::runtime_error {
  BodyFailed() : std::runtime_error("the body failed, as asked") {}
};

}  // namespace

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
  if (outcome.ok() || (failure && failure->attempted)) settle_reads(live.plan);
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
  if (by_rule_) driver_->disarm();  // what it has waited for before a failure is not known
  const Outcome outcome = attempt([&] { manager_->close(); });
  const bool injected = driver_->failures() != failures_before_ && outcome.code == kDevice;
  settle(outcome, injected ? std::set<std::string>{kDevice} : std::set<std::string>{kInUse}, {});
  finish_arrivals(true);
  finish_tickets();
  expect(injected || (tickets_.empty() && arrivals_.empty()), "close did not wait for pending consumers");
  expect(!manager_->closed(), "a refused close closed the manager");
}

}  // namespace fheres::lockstep
