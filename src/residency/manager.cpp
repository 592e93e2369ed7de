#include <stdexcept>

#include <fmt/format.h>

#include <fheres/residency/manager.hpp>

#include "residency/core.hpp"
#include "residency/plan_run.hpp"
#include "residency/transition_runner.hpp"

namespace fheres::residency {

Manager::Manager(std::shared_ptr<memory::Driver> driver, ManagerOptions options) {
  if (!driver) throw std::invalid_argument("a manager needs a driver");
  for (const auto& [a, b] : options.copies.peers) {
    if (driver->are_peers(a, b)) continue;
    throw std::invalid_argument(
        fmt::format("expected peers that copy to each other directly, got {} and {}", a.name(), b.name()));
  }
  core_ = std::make_shared<Core>(std::move(driver), std::move(options));
}

Manager::~Manager() { core_->abandon(); }

ManagerId Manager::manager_id() const { return core_->id; }
memory::Driver& Manager::driver() const { return *core_->driver; }

// ---- Values

Allocation Manager::allocate(Location at, Bytes bytes) { return core_->allocate(at, bytes); }
void Manager::gather(Location at, Bytes bytes) { core_->gather(at, bytes); }

HandleId Manager::adopt(Allocation&& block, Location at, const ValueSpec& spec) {
  return core_->adopt(block, at, spec);
}

HandleId Manager::announce(const ValueSpec& spec) { return core_->announce(spec); }

void Manager::adopt(Allocation&& block, Location at, HandleId announced) {
  core_->adopt(block, at, announced);
}

HandleId Manager::adopt(memory::Block&& block, Location at, const ValueSpec& spec) {
  return core_->adopt(block, at, spec, std::nullopt);
}

HandleId Manager::adopt(memory::Block&& block, Location at, const ValueSpec& spec, Reservation& from) {
  if (!from.belongs_to(*core_))
    throw std::invalid_argument("the reservation belongs to another manager, or is empty");
  return core_->adopt(block, at, spec, from.id());
}

HandleId Manager::register_source(const ValueSpec& spec, Source source, Location at) {
  return core_->register_source(spec, std::move(source), at);
}

HandleId Manager::register_backed(const ValueSpec& spec, HandleId backing, Expand expand) {
  return core_->register_backed(spec, backing, std::move(expand));
}

ValueSpec Manager::spec(HandleId value) const {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  if (const auto refusal = core_->state.check(value)) raise(*refusal, core_->state);
  return *core_->state.record(value).spec;
}

// ---- Transitions

TransitionReport Manager::run(const Action& action, const memory::Stream& stream) {
  const TransitionLock transition(*core_);
  StreamChoice choice;
  choice.given = &stream;
  return run_transition(*core_, action, choice);
}

TransitionReport Manager::ensure(HandleId value, Location at, std::optional<Location> from,
                                 const memory::Stream& stream) {
  return run(Ensure{value, at, from}, stream);
}

TransitionReport Manager::prefetch(HandleId value, Location at, std::optional<Location> from,
                                   const memory::Stream& stream) {
  return run(Ensure{value, at, from, true}, stream);
}

void Manager::settle(HandleId value, Location at) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->check_open();
    if (const auto refusal = core_->state.check_resident(value, at)) raise(*refusal, core_->state);
  }
  core_->settle(value, at);
}

void Manager::settle_for(const Action& action) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->check_open();
  }
  core_->settle_for(action);
}

std::vector<HandleId> Manager::arriving(std::span<const HandleId> values, Location at) const {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  std::vector<HandleId> found;
  for (const Arriving* a : core_->on_their_way(values, at)) {
    // Where the one before is not complete, this one is not either, or it does no harm to think so.
    if (found.empty() && core_->complete(a->ready)) continue;
    found.push_back(a->value);
  }
  return found;
}

TransitionReport Manager::move(HandleId value, Location to, std::optional<Location> from,
                               const memory::Stream& stream) {
  return run(Move{value, to, from}, stream);
}

TransitionReport Manager::drop(HandleId value, Location at) { return run(Drop{value, at}); }
TransitionReport Manager::discard(HandleId value) { return run(Discard{value}); }

// ---- Protection

Lease Manager::acquire(std::span<const HandleId> values, Location at, const memory::Stream& consumer) {
  return core_->acquire(values, at, consumer);
}

Lease Manager::acquire(std::initializer_list<HandleId> values, Location at, const memory::Stream& consumer) {
  return core_->acquire({values.begin(), values.size()}, at, consumer);
}

Hold Manager::hold(std::span<const HandleId> values, Location at) { return core_->hold(values, at); }

Hold Manager::hold(std::initializer_list<HandleId> values, Location at) {
  return core_->hold({values.begin(), values.size()}, at);
}

Reservation Manager::reserve(Location at, Bytes bytes, const std::string& label) {
  const TransitionLock transition(*core_);
  return core_->admit({at, bytes, label});
}

// ---- Plans

Explanation Manager::explain(const Plan& plan, std::optional<std::uint64_t> expected_version,
                             Detail detail) const {
  return core_->explain(plan, expected_version, detail);
}

Scope Manager::scope(Plan plan, TransferStreams streams, std::optional<std::uint64_t> expected_version) {
  return core_->make_scope(std::move(plan), std::move(streams), expected_version);
}

PlanReport Manager::execute_actions(std::span<const Action> actions, const std::string& name,
                                    TransferStreams streams, std::optional<std::uint64_t> expected_version) {
  check_streams(streams);
  const TransitionLock transition(*core_);
  PlanReport report;
  PlanRun run(*core_, streams, report);
  run.accept(run.preflight(name, actions, expected_version));
  run.actions(Phase::execute, actions);
  run.finish();
  return report;
}

// ---- Observation

std::uint64_t Manager::state_version() const {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  return core_->state.version();
}

State Manager::planning_state() {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  core_->reap();
  return core_->state;
}

Snapshot Manager::snapshot() { return core_->snapshot(); }

std::vector<TransitionReport> Manager::trace() const {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  return {core_->trace.begin(), core_->trace.end()};
}

void Manager::clear_trace() {
  const std::lock_guard lock(core_->mutex);
  core_->check_open();
  core_->trace.clear();
}

memory::Stream Manager::transfer_stream(Location device) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->check_open();
  }
  return core_->transfer_stream(device);
}

void Manager::close(bool wait, bool force) { core_->close(wait, force); }

bool Manager::closed() const {
  const std::lock_guard lock(core_->mutex);
  if (core_->loading) throw ReentrancyError();
  return core_->closed;
}

}  // namespace fheres::residency
