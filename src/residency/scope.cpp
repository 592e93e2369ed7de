#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/clock.hpp>
#include <fheres/residency/scope.hpp>

#include "residency/core.hpp"
#include "residency/plan_run.hpp"
#include "residency/transition_runner.hpp"

namespace fheres::residency {

struct Scope::Body {
  enum class Stage { fresh, open, consumed };

  std::shared_ptr<Core> core;
  Plan plan;
  TransferStreams streams;
  std::optional<std::uint64_t> expected;
  Stage stage = Stage::fresh;
  std::vector<Reservation> reservations;
  std::optional<Explanation> explanation;
  PlanReport report;
  std::exception_ptr exit_error;
  PeakWatch watch;

  void start_watch();
  void end();
  void wait_for_consumers() const;
};

Scope Core::make_scope(Plan plan, TransferStreams transfer_streams, std::optional<std::uint64_t> expected) {
  if (plan.name.empty()) throw std::invalid_argument("a plan needs a name, the one given is empty");
  check_streams(transfer_streams);
  auto body = std::make_unique<Scope::Body>();
  body->core = shared_from_this();
  body->plan = std::move(plan);
  body->streams = std::move(transfer_streams);
  body->expected = expected;
  return Scope(std::move(body));
}

void Scope::Body::start_watch() {
  const std::lock_guard lock(core->mutex);
  core->watches.push_back(&watch);
  for (const Account& a : core->state.accounts()) core->note_peak(a.at);
}

// Reservations go, whatever came before; nothing runs after this.
void Scope::Body::end() {
  stage = Stage::consumed;
  reservations.clear();
  report.end_ns = now_ns();
  const std::lock_guard lock(core->mutex);
  std::erase(core->watches, &watch);
  report.peaks = watch.peaks;
  report.version_after = core->state.version();
}

// R39: consumers of what exit removes are waited for, without a lock; exit itself then refuses rather than
// waits. What the body has read has arrived, and is settled (R23).
void Scope::Body::wait_for_consumers() const {
  std::vector<memory::Event> events;
  std::vector<ValuePlace> ends = plan.reads;  // R23
  {
    const std::lock_guard lock(core->mutex);
    core->check_open();
    for (const Pending& p : core->pending) {
      const bool named = std::any_of(plan.exit.begin(), plan.exit.end(), [&](const Action& action) {
        return !std::holds_alternative<Ensure>(action) &&
               std::find(p.values.begin(), p.values.end(), value_of(action)) != p.values.end();
      });
      if (named) events.insert(events.end(), p.events.begin(), p.events.end());
    }
    for (const Action& action : plan.exit)
      for (const ValuePlace& end : core->state.arrivals_in_the_way(action)) ends.push_back(end);
  }
  for (const memory::Event& event : events) core->driver->synchronize(event);
  core->await(ends);
  const std::lock_guard lock(core->mutex);
  core->end_events(events);
  core->end_arrivals(plan.reads);
}

Scope::Scope(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Scope::Scope(Scope&& other) noexcept = default;

Scope& Scope::operator=(Scope&& other) noexcept {
  if (this == &other) return *this;
  Scope old(std::move(*this));
  body_ = std::move(other.body_);
  return *this;
}

Scope::~Scope() {
  if (!open()) return;
  abandon();
  try {
    body_->core->warn(fmt::format(
        "the scope of plan '{}' was destroyed while open: its exit actions did not run", body_->plan.name));
  } catch (...) {
    body_->core->warn("a scope was destroyed while open");
  }
}

const Plan& Scope::plan() const { return body_->plan; }
bool Scope::open() const { return body_ && body_->stage == Body::Stage::open; }
const std::optional<Explanation>& Scope::explanation() const { return body_->explanation; }
const PlanReport& Scope::report() const { return body_->report; }
std::exception_ptr Scope::exit_error() const { return body_->exit_error; }

void Scope::enter() {
  Body& b = *body_;
  if (b.stage != Body::Stage::fresh)
    throw LifetimeClosedError(fmt::format("the scope of plan '{}' was entered before", b.plan.name));
  Core& core = *b.core;
  const TransitionLock transition(core);
  PlanRun run(core, b.streams, b.report);
  b.explanation = run.preflight(b.plan, b.expected);
  run.accept(*b.explanation);
  b.start_watch();
  try {
    run.actions(Phase::reclaim, b.plan.reclaim);
    for (std::size_t i = 0; i < b.plan.reservations.size(); ++i)
      b.reservations.push_back(run.reserve(i, b.plan.reservations[i]));
    run.actions(Phase::enter, b.plan.enter);
    run.actions(Phase::prefetch, b.plan.prefetch);
  } catch (...) {
    b.end();
    throw;
  }
  b.stage = Body::Stage::open;
  run.finish();
}

void Scope::close() {
  if (!open()) return;
  Body& b = *body_;
  PlanRun run(*b.core, b.streams, b.report);
  try {
    b.wait_for_consumers();
  } catch (const memory::DeviceError&) {
    b.end();
    run.fail(Phase::exit, 0, std::nullopt, std::nullopt);
  }
  const TransitionLock transition(*b.core);
  try {
    run.actions(Phase::exit, b.plan.exit);
  } catch (...) {
    b.end();
    throw;
  }
  b.end();
}

void Scope::abandon() noexcept {
  if (open()) body_->end();
}

void Scope::run(const std::function<void(Scope&)>& body) {
  enter();
  std::exception_ptr failure;
  try {
    body(*this);
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    close();
  } catch (...) {
    abandon();  // where not even the exit could begin
    if (!failure) throw;
    body_->exit_error = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
}

Reservation& Scope::reservation(std::string_view label) {
  if (!open()) throw LifetimeClosedError(fmt::format("the scope of plan '{}' is not open", body_->plan.name));
  for (Reservation& r : body_->reservations)
    if (r.spec().label == label) return r;
  throw std::invalid_argument(fmt::format("plan '{}' has no reservation '{}'", body_->plan.name, label));
}

Reservation& Scope::reservation(std::string_view label, Location at) {
  if (!open()) throw LifetimeClosedError(fmt::format("the scope of plan '{}' is not open", body_->plan.name));
  for (Reservation& r : body_->reservations)
    if (r.spec().label == label && r.spec().at == at) return r;
  throw std::invalid_argument(
      fmt::format("plan '{}' has no reservation '{}' at {}", body_->plan.name, label, at.name()));
}

}  // namespace fheres::residency
