#include "lockstep/world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <fheres/memory/poison.hpp>

namespace fheres::lockstep {

const char* name(Kind kind) {
  static constexpr const char* kNames[kKinds] = {"adopt",
                                                 "adopt_from_reservation",
                                                 "register_source",
                                                 "register_backed",
                                                 "ensure",
                                                 "prefetch",
                                                 "settle",
                                                 "move",
                                                 "drop",
                                                 "discard",
                                                 "acquire",
                                                 "add_stream",
                                                 "read",
                                                 "release_lease",
                                                 "hold",
                                                 "release_hold",
                                                 "reserve",
                                                 "release_reservation",
                                                 "allocate",
                                                 "carve",
                                                 "adopt_block",
                                                 "free_block",
                                                 "explain",
                                                 "execute",
                                                 "open_scope",
                                                 "close_scope",
                                                 "abandon_scope",
                                                 "run_scope",
                                                 "announce",
                                                 "clear_trace",
                                                 "refused_close",
                                                 "step"};
  return kNames[static_cast<std::size_t>(kind)];
}

World::World(std::uint64_t seed, bool keep_log) : seed_(seed), keep_log_(keep_log) {
  Random random(seed * 2 + 1);
  memory::fill_freed_blocks(true);
  uniform_ = random.chance(2);
  faults_ = random.chance(2);
  trace_capacity_ = random.chance(5) ? random.below(4) : 4096;
  places_ = {Location::pageable_host(), Location::pinned_host()};
  for (int device = 0; device < devices_; ++device) places_.push_back(Location::cuda(device));
  for (const Location at : places_) {
    if (random.chance(3)) continue;
    budgets_[at] = random.chance(20) ? 0 : kGranule * (4 + random.below(16));
  }
  if (is_crowded(seed)) {
    uniform_ = false;
    crowd_ = places_[1 + random.below(places_.size() - 1)];
    budgets_.erase(Location::pageable_host());
    budgets_[*crowd_] = kGranule * (12 + random.below(8));
  }

  memory::SteppedOptions options;
  options.devices = devices_;
  options.seed = seed;
  options.synchronize_only_what_is_needed = random.chance(2);
  options.one_allocation_per_block = seed % 4 == 3;  // and nothing else may change by it
  machine_ = memory::make_stepped_driver(options);
  driver_ = std::make_shared<test::FaultyDriver>(machine_);
  // Where blocks are apart nobody outside can tell where a copy is staged.
  if (options.one_allocation_per_block || random.chance(2)) {
    copies_.peers = {{Location::cuda(0), Location::cuda(1)}};
  }
  if (random.chance(3)) copies_.source_order = residency::SourceOrder::fastest;
  driver_->tell_of_allocations([this](const memory::Extent& made) {
    if (made.at == Location::pinned_host()) pinned_region_ = made.data;
  });
  driver_->tell_of_copies([this](const memory::Extent& destination, const memory::Extent& source) {
    if (destination.at == Location::pinned_host() && source.at.is_cuda()) outs_.push_back(destination.data);
  });
  driver_->tell_of_records([this](const memory::Stream& stream) {
    if (!body_reads_) records_.push_back({stream, machine_->submitted(stream)});
  });
  for (int device = 0; device < devices_; ++device) {
    for (int i = 0; i < 2; ++i) {
      streams_.push_back({driver_->make_stream(Location::cuda(device), "consumer"), Location::cuda(device)});
    }
  }
  residency::ManagerOptions manager_options;
  manager_options.budgets = budgets_;
  manager_options.copies = copies_;
  manager_options.trace_capacity = trace_capacity_;
  by_rule_ = seed % 3 == 1;
  manager_options.arrivals_end_when_settled = by_rule_;
  manager_options.warn = [this](const std::string& line) { warnings_.push_back(line); };
  manager_.emplace(driver_, manager_options);
  rules_.emplace(manager_->manager_id(), budgets_, devices_, copies_);
  shadow_.emplace(manager_->manager_id(), budgets_, devices_, copies_);
  rules_manager_ = manager_->manager_id();
  last_version_ = manager_->state_version();
  last_fingerprint_ = rules_->fingerprint();
  if (keep_log_) {
    std::string line = fmt::format(
        "world: {} sizes, {}, {}, {}", uniform_ ? "equal" : "mixed", faults_ ? "faults" : "no faults",
        copies_.peers.empty() ? "staged" : "peers",
        copies_.source_order == residency::SourceOrder::fastest ? "fastest source" : "first source");
    for (const auto& [at, bytes] : budgets_) line += fmt::format(", {}={}", at.name(), bytes);
    say(line);
  }
}

World::~World() {
  machine_->run_until_idle();  // readers look at blocks that the manager still owns
  driver_->tell_of_records(nullptr);
  driver_->tell_of_copies(nullptr);
  driver_->tell_of_allocations(nullptr);
}

void World::say(const std::string& line) {
  if (keep_log_) log_.push_back(line);
}
void World::mismatch(const std::string& what) const {
  throw Mismatch(fmt::format("{}{}{}: {}", name(kind_), doing_.empty() ? "" : " ", doing_, what));
}
void World::expect(bool holds, const std::string& what) const {
  if (!holds) mismatch(what);
}

bool World::fault_hit() const { return driver_->failures() != failures_before_ || source_misbehaved_; }

void World::arm(Random& random) {
  fault_armed_ = false;
  failures_before_ = driver_->failures();
  source_misbehaved_ = false;
  if (!faults_) return;
  load_values_badly(random);
  // Not both: a failed expansion that cannot be waited for keeps its storage for good (R20), and its copies.
  if (!random.chance(2)) return expand_values_badly(random);
  static constexpr test::Call kCalls[] = {test::Call::allocate,    test::Call::copy, test::Call::record,
                                          test::Call::synchronize, test::Call::wait, test::Call::enqueue};
  fault_armed_ = true;
  const std::uint64_t which = random.below(std::size(kCalls));
  driver_->fail(kCalls[which], 1 + random.below(3));
}

void World::count(Kind kind, const Outcome& outcome) {
  Count& counter = counts_[kind];
  if (outcome.ok()) {
    ++counter.done;
  } else if (fault_hit() || outcome.code == kAllocation) {
    ++counter.failed;
  } else {
    ++counter.refused;
  }
}

bool World::settle(const Outcome& outcome, const std::set<std::string>& refusals,
                   const std::set<std::string>& failures) {
  count(kind_, outcome);
  const std::string got = outcome.ok() ? "success" : outcome.code + " (" + outcome.text + ")";
  say(fmt::format("  {}: {}", doing_, got));
  if (!refusals.empty()) {
    std::string list;
    for (const std::string& code : refusals) list += (list.empty() ? "" : " or ") + code;
    expect(refusals.count(outcome.code) != 0, fmt::format("expected {}, got {}", list, got));
    return false;
  }
  if (outcome.ok()) {
    std::string list;
    for (const std::string& code : failures) list += (list.empty() ? "" : " or ") + code;
    expect(failures.empty(), fmt::format("expected a failure with {}, got success", list));
    return true;
  }
  if (failures.count(outcome.code) != 0) return false;
  const bool injected = driver_->failures() != failures_before_;
  expect(injected && (outcome.code == kDevice || outcome.code == kAllocation),
         fmt::format("expected success, got {}", got));
  return false;
}

void World::run(const Operation& operation) {
  Random random(operation.seed);
  kind_ = operation.kind;
  doing_.clear();
  warnings_.clear();
  warning_expected_ = false;
  version_may_grow_ = false;
  // What completes here has not been reaped when the operation begins (R33).
  for (std::uint64_t i = random.below(3); i > 0; --i) machine_->step();
  records_.clear();
  used_records_ = 0;
  outs_.clear();
  used_outs_ = 0;
  finish_tickets();
  // Each action of a plan reaps, so what was pending at its start may slide for a later one, and what was there only
  // for an arrival may be gone.
  several_ = operation.kind == Kind::execute || operation.kind == Kind::open_scope ||
             operation.kind == Kind::close_scope || operation.kind == Kind::run_scope;
  addresses_unknown_ = several_ && ((!by_rule_ && !rules_->arrivals().empty()) || !tickets_.empty());
  arm(random);
  say(name(kind_));
  dispatch(operation.kind, random);
  const bool hit = fault_hit();
  driver_->disarm();
  for (auto& [serial, source] : sources_) source->next = SourceState::Next::good;
  for (auto& [serial, expansion] : expansions_) expansion->next = ExpandState::Next::good;
  during_load_ = nullptr;
  if (hit) version_may_grow_ = true;
  if (!warnings_.empty() && !hit && !warning_expected_) mismatch("unexpected warning: " + warnings_.front());
  finish_tickets();
  check();
  staging_.clear();
}

void World::dispatch(Kind kind, Random& random) {
  switch (kind) {
    case Kind::adopt:
      return adopt(random);
    case Kind::adopt_from_reservation:
      return adopt_from_reservation(random);
    case Kind::register_source:
      return register_source(random);
    case Kind::register_backed:
      return register_backed(random);
    case Kind::settle:
      return settle_arrival(random);
    case Kind::ensure:
    case Kind::prefetch:
    case Kind::move:
    case Kind::drop:
    case Kind::discard:
      return transition(random, kind);
    case Kind::acquire:
      return acquire(random);
    case Kind::add_stream:
      return add_stream(random);
    case Kind::read:
      return read(random);
    case Kind::release_lease:
      return release_lease(random);
    case Kind::hold:
      return hold(random);
    case Kind::release_hold:
      return release_hold(random);
    case Kind::reserve:
      return reserve(random);
    case Kind::release_reservation:
      return release_reservation(random);
    case Kind::allocate:
      return allocate(random);
    case Kind::carve:
      return carve(random);
    case Kind::adopt_block:
      return adopt_block(random);
    case Kind::free_block:
      return free_block(random);
    case Kind::explain:
      return explain(random);
    case Kind::execute:
      return execute(random);
    case Kind::open_scope:
      return open_scope(random);
    case Kind::close_scope:
      return close_scope(random);
    case Kind::abandon_scope:
      return abandon_scope(random);
    case Kind::run_scope:
      return run_scope(random);
    case Kind::announce:
      return announce(random);
    case Kind::clear_trace:
      manager_->clear_trace();
      completed_ = 0;
      return count(kind, {});
    case Kind::refused_close:
      return refused_close();
    case Kind::step:
      for (std::uint64_t i = 1 + random.below(6); i > 0; --i) machine_->step();
      return count(kind, {});
  }
}

void World::finish() {
  kind_ = Kind::refused_close;
  doing_ = "finish";
  Random random(seed_ * 2);
  failures_before_ = driver_->failures();
  source_misbehaved_ = false;
  const std::uint64_t way = random.below(4);
  if (way == 0) {
    outlive(random);
  } else if (way == 1) {
    finish_by_force();
  } else {
    finish_orderly(random);
  }
  machine_->run_until_idle();
  expect(late_readers_->empty(), late_readers_->empty() ? "" : late_readers_->front());
}

void World::release_everything(Random& random) {
  while (!scopes_.empty()) {
    scopes_.front().scope.abandon();
    for (const std::uint64_t key : scopes_.front().keys) release_in_rules(key);
    scopes_.pop_front();
  }
  while (!leases_.empty()) {
    end_lease(leases_.front(), random.chance(2) ? Ending::wait : Ending::release);
    leases_.pop_front();
  }
  while (!holds_.empty()) {
    LiveHold& live = holds_.front();
    live.hold.release();
    for (const std::uint64_t serial : live.serials) {
      rules_->protect(serial, live.at, true, -1);
      shadow_->unprotect({manager_->manager_id(), serial}, live.at, residency::State::Token::hold);
    }
    holds_.pop_front();
  }
  while (!reservations_.empty()) {
    reservations_.front().reservation.release();
    release_in_rules(reservations_.front().key);
    reservations_.pop_front();
  }
  while (!blocks_.empty()) {
    free_in_rules(blocks_.front().key);
    blocks_.pop_front();
  }
}

void World::finish_orderly(Random& random) {
  release_everything(random);
  finish_tickets();
  version_may_grow_ = true;
  check();
  while (!rules_->arrivals().empty()) {
    const RuleArrival arrival = rules_->arrivals().begin()->second;
    const std::uint64_t key = rules_->arrivals().begin()->first;
    manager_->settle({rules_manager_, arrival.serial}, arrival.at);
    if (by_rule_) end_arrival(key);
    finish_tickets();
  }
  check_all_contents();
  manager_->close();
  expect(manager_->closed(), "close returned, and closed() is false");
  manager_->close();  // R63: closing twice is fine
  const auto is_closed = [&](const Outcome& outcome) { return outcome.code == "residency/closed"; };
  expect(is_closed(attempt([&] { manager_->snapshot(); })), "snapshot works after close");
  expect(is_closed(attempt([&] { manager_->reserve(Location::pinned_host(), 1, "late"); })),
         "reserve after close");
  expect(is_closed(attempt([&] {
           manager_->explain(Plan{"late", {}, {}, {}, {}});
         })),
         "explain works after close");
  expect(is_closed(attempt([&] {
           manager_->ensure({manager_->manager_id(), 0}, Location::pinned_host());
         })),
         "ensure works after close");
  expect(is_closed(attempt([&] { manager_->acquire({}, Location::pinned_host()); })),
         "acquire works after close");
  for (const auto& [at, region] : foreign_) {
    expect(region->allocated() == 0, fmt::format("close left blocks of {} alive", at.name()));
  }
}

void World::finish_by_force() {
  manager_->close(true, true);
  expect(manager_->closed(), "a forced close returned, and closed() is false");
  for (LiveLease& live : leases_) {
    const Outcome outcome = attempt([&] { live.lease.release(); });
    expect(outcome.ok(), "a lease cannot be released after a forced close: " + outcome.text);
  }
  for (LiveScope& live : scopes_) live.scope.abandon();
  for (LiveHold& live : holds_) live.hold.release();
  for (LiveReservation& live : reservations_) live.reservation.release();
}

// Tokens share the core, so they may outlive the manager; what a lease protects stays readable.
void World::outlive(Random& random) {
  finish_arrivals(true);
  const bool leaks = rules_->any_token();
  warnings_.clear();
  manager_.reset();
  expect(!leaks || !warnings_.empty(), "a manager that leaks what tokens protect does not warn");
  if (!rules_->arrivals().empty()) machine_->run_until_idle();
  for (LiveLease& live : leases_) {
    for (const std::uint64_t serial : live.serials) {
      const residency::BlockView view = live.lease.view({rules_manager_, serial});
      expect(has_pattern_of(serial, view), "a lease that outlives its manager reads something else");
    }
  }
  while (!leases_.empty() || !holds_.empty() || !reservations_.empty()) {
    const std::uint64_t which = random.below(3);
    if (which == 0 && !leases_.empty()) leases_.pop_front();
    if (which == 1 && !holds_.empty()) holds_.pop_front();
    if (which == 2 && !reservations_.empty()) reservations_.pop_front();
  }
  scopes_.clear();
  blocks_.clear();
}

}  // namespace fheres::lockstep
