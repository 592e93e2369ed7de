#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/world.hpp"

namespace fheres::lockstep {
namespace {

bool same_work(Expectation::Work rule, residency::Transition::Work real) {
  using Rule = Expectation::Work;
  using Real = residency::Transition::Work;
  return (rule == Rule::nothing && real == Real::nothing) || (rule == Rule::copy && real == Real::copy) ||
         (rule == Rule::load && real == Real::load) || (rule == Rule::remove && real == Real::remove);
}

}  // namespace

std::string text_of(const Action& action) {
  std::string text = fmt::format("{} v{}", residency::verb_of(action), residency::value_of(action).serial);
  if (const auto at = residency::location_of(action)) text += fmt::format(" {}", at->name());
  if (const auto* ensure = std::get_if<residency::Ensure>(&action); ensure != nullptr && ensure->from) {
    text += fmt::format(" from {}", ensure->from->name());
  }
  if (const auto* ensure = std::get_if<residency::Ensure>(&action);
      ensure != nullptr && ensure->asynchronous) {
    text += " asynchronously";
  }
  if (const auto* move = std::get_if<residency::Move>(&action); move != nullptr && move->from) {
    text += fmt::format(" from {}", move->from->name());
  }
  return text;
}

bool World::has_pattern_of(std::uint64_t serial, const residency::BlockView& view) const {
  return has_pattern(view.data, view.spec->logical_bytes, contents_.at(serial));
}

memory::Block World::foreign_block(Location at, Bytes bytes) {
  auto& region = foreign_[at];
  if (!region) region = memory::Region::make(machine_, at, 64 * kKiB);
  return region->allocate(bytes);
}

void World::new_value(std::uint64_t content, residency::HandleId handle) {
  expect(handle.manager == rules_manager_, "a handle of another manager came back");
  expect(handle.serial == contents_.size(),
         fmt::format("expected serial {}, got {}", contents_.size(), handle.serial));
  contents_.push_back(content);
}

void World::adopt(Random& random) {
  const ValueSpec spec = draw_spec(random);
  const Location at = draw_home(random);
  Location claimed = at;
  Bytes actual = spec.logical_bytes + random.below(spec.storage_bytes - spec.logical_bytes + 1);
  std::set<std::string> refusals;
  if (random.chance(20)) {  // R4: the block must really be there
    claimed = places_[random.below(places_.size())];
    if (claimed != at) refusals.insert({kArgument, kMaterialization, kOwnership});
  }
  if (random.chance(20)) {  // R7: never larger than the charge, never smaller than the contents
    actual = random.chance(2) || spec.logical_bytes == 0 ? spec.storage_bytes + 1 : spec.logical_bytes - 1;
    refusals.insert({kArgument, kMaterialization});
  }
  if (!rules_->admits(claimed, spec.storage_bytes)) refusals.insert(kBudget);
  memory::Block block = foreign_block(at, actual);
  const std::uint64_t content = next_content_++;
  fill_pattern(block.data(), block.bytes(), content);
  doing_ = fmt::format("v{} of {} B ({} of {}) at {} as {}", contents_.size(), spec.storage_bytes, actual,
                       spec.logical_bytes, at.name(), claimed.name());
  residency::HandleId handle;
  const Outcome outcome = attempt([&] { handle = manager_->adopt(std::move(block), claimed, spec); });
  if (!settle(outcome, refusals, {})) {
    expect(static_cast<bool>(block), "a failed adopt took the block");
    return;
  }
  expect(!block, "adopt returned, and the caller still has the block");
  rules_->adopt_foreign(spec, at, actual, std::nullopt);
  expect(std::holds_alternative<residency::HandleId>(shadow_->adopt(spec, at, actual)),
         "state refuses to adopt");
  new_value(content, handle);
}

void World::adopt_from_reservation(Random& random) {  // R38
  const std::optional<OpenReservation> open = draw_reservation(random);
  if (!open) return;
  const RuleReservation& room = rules_->reservations().at(open->key);
  const ValueSpec spec = draw_spec(random);
  Location at = room.at;
  std::set<std::string> refusals;
  if (random.chance(10)) at = places_[random.below(places_.size())];
  if (at != room.at) refusals.insert({kArgument, kBudget});
  if (room.available() < spec.storage_bytes) refusals.insert({kArgument, kBudget});
  const Bytes actual = spec.logical_bytes;
  memory::Block block = foreign_block(at, actual);
  const std::uint64_t content = next_content_++;
  fill_pattern(block.data(), block.bytes(), content);
  doing_ = fmt::format("v{} of {} B at {} out of `{}` with {} B", contents_.size(), spec.storage_bytes,
                       at.name(), room.label, room.available());
  residency::HandleId handle;
  const Outcome outcome =
      attempt([&] { handle = manager_->adopt(std::move(block), at, spec, *open->reservation); });
  if (!settle(outcome, refusals, {})) {
    expect(static_cast<bool>(block), "a failed adopt took the block");
    return;
  }
  rules_->adopt_foreign(spec, at, actual, open->key);
  const auto adopted = shadow_->adopt(spec, at, actual, shadow_reservations_.at(open->key));
  expect(std::holds_alternative<residency::HandleId>(adopted), "state refuses to adopt from a reservation");
  new_value(content, handle);
}

void World::register_source(Random& random) {  // R5
  ValueSpec spec = draw_spec(random);
  const Location at = draw_location(random);
  std::set<std::string> refusals;
  if (!random.chance(15)) {
    spec.recoverability = residency::Recoverability::reconstructible;
  } else {
    refusals.insert({kArgument, kOwnership});
  }
  if (!rules_->present(at)) refusals.insert({kArgument, kUnavailable});  // R3
  auto state = std::make_shared<SourceState>();
  state->content = next_content_++;
  state->actual = random.chance(2)
                      ? spec.logical_bytes
                      : spec.logical_bytes + random.below(spec.storage_bytes - spec.logical_bytes + 1);
  doing_ = fmt::format("v{} of {} B at {}", contents_.size(), spec.storage_bytes, at.name());
  residency::HandleId handle;
  const Outcome outcome = attempt([&] {
    handle = manager_->register_source(
        spec, [this, state](residency::LoadContext& context) { return load(*state, context); }, at);
  });
  if (!settle(outcome, refusals, {})) return;
  rules_->register_source(spec, at);
  shadow_->register_source(spec, at);
  sources_[handle.serial] = state;
  new_value(state->content, handle);
}

void World::announce(Random& random) {
  const ValueSpec spec = draw_spec(random);
  doing_ = fmt::format("v{} of {} B", contents_.size(), spec.storage_bytes);
  residency::HandleId handle;
  const Outcome outcome = attempt([&] { handle = manager_->announce(spec); });
  if (!settle(outcome, {}, {})) return;
  rules_->announce(spec);
  shadow_->announce(spec);
  new_value(next_content_++, handle);
  version_may_grow_ = true;
}

void World::load_values_badly(Random& random) {
  for (auto& [serial, source] : sources_) {
    source->called = false;
    if (!random.chance(6)) continue;
    source->next = static_cast<SourceState::Next>(1 + random.below(5));
  }
}

residency::Loaded World::load(SourceState& state, residency::LoadContext& context) {
  using Next = SourceState::Next;
  state.called = true;
  source_misbehaved_ = source_misbehaved_ || state.next != Next::good;
  probe_reentrancy();
  if (during_load_) during_load_();
  if (state.next == Next::throws) throw SourceFailed();
  if (state.next == Next::wrong_place) {
    return foreign_block(
        context.at() == Location::pinned_host() ? Location::pageable_host() : Location::pinned_host(),
        state.actual);
  }
  Bytes bytes = state.actual;
  if (state.next == Next::too_large) bytes = context.spec().storage_bytes + 1;
  if (state.next == Next::too_small && context.spec().logical_bytes != 0)
    bytes = context.spec().logical_bytes - 1;
  memory::Block block = context.allocate(bytes);
  if (context.stream() && state.content % 2 == 0) {  // a device source may leave its last work in the stream
    staging_.push_back(foreign_block(Location::pinned_host(), bytes));
    fill_pattern(staging_.back().data(), bytes, state.content);
    context.driver().copy(context.stream(), block.extent(), staging_.back().extent());
  } else {
    fill_pattern(block.data(), block.bytes(), state.content);
  }
  if (state.next == Next::wrong_type) return {std::move(block), "something else"};
  return block;
}

// R18: while a source loads, whatever looks at the manager or changes it is refused at once.
void World::probe_reentrancy() {
  const auto refused = [&](const char* what, const Outcome& outcome) {
    expect(outcome.code == "residency/reentrancy",
           fmt::format("expected residency/reentrancy from {} while a source loads, got {}", what,
                       outcome.ok() ? "success" : outcome.code));
  };
  const residency::HandleId first{rules_manager_, 0};
  const Location at = Location::pinned_host();
  refused("snapshot", attempt([&] { manager_->snapshot(); }));
  refused("ensure", attempt([&] { manager_->ensure(first, at); }));
  refused("drop", attempt([&] { manager_->drop(first, at); }));
  refused("acquire", attempt([&] { manager_->acquire({first}, at); }));
  refused("hold", attempt([&] { manager_->hold({first}, at); }));
  refused("reserve", attempt([&] { manager_->reserve(at, 0, "late"); }));
  refused("allocate", attempt([&] { manager_->allocate(at, 1); }));
  refused("explain", attempt([&] { manager_->explain(Plan{"late", {}, {}, {}, {}}); }));
  refused("state_version", attempt([&] { manager_->state_version(); }));
  refused("trace", attempt([&] { manager_->trace(); }));
  refused("close", attempt([&] { manager_->close(); }));
  expect(manager_->manager_id() == rules_manager_, "manager_id changed");
  for (LiveLease& live : leases_) {  // lookups always work
    for (const std::uint64_t serial : live.serials) live.lease.view({rules_manager_, serial});
  }
}

bool World::sources_are_good() const {
  for (const auto& [serial, source] : sources_) {
    if (source->next != SourceState::Next::good) return false;
  }
  return true;
}

/// Of the block that the action installs.
Bytes World::actual_of(const Action& action, const Expectation& expected) const {
  if (expected.work == Expectation::Work::load)
    return sources_.at(residency::value_of(action).serial)->actual;
  return expected.bytes;
}

/// Why an allowed action has to fail all the same.
std::set<std::string> World::failures_of(const Action& action, const Expectation& expected) const {
  using Next = SourceState::Next;
  std::set<std::string> failures;
  if (expected.work == Expectation::Work::copy && !expected.has_piece) failures.insert(kBudget);  // R27
  if (expected.work != Expectation::Work::load) return failures;
  const std::uint64_t serial = residency::value_of(action).serial;
  const SourceState& source = *sources_.at(serial);
  const ValueSpec& spec = rules_->values()[serial].spec;
  const bool too_small = source.next == Next::too_small && spec.logical_bytes != 0;
  if (source.next == Next::throws) failures.insert(kSourceFailed);
  if (source.next == Next::wrong_type || source.next == Next::wrong_place || source.next == Next::too_large ||
      too_small) {
    failures.insert(kMaterialization);
  }
  const bool allocates =
      source.next == Next::good || source.next == Next::wrong_type || source.next == Next::too_small;
  if (allocates && !rules_->has_piece(*expected.source, too_small ? spec.logical_bytes - 1 : source.actual)) {
    failures.insert(kBudget);
  }
  if (expected.source != expected.destination && !rules_->has_piece(*expected.destination, source.actual)) {
    failures.insert(kBudget);
  }
  if (expected.staging != 0 && !rules_->has_piece(Location::pinned_host(), source.actual)) {
    failures.insert(kBudget);
  }
  return failures;
}

void World::check_report(const Action& action, const Expectation& expected,
                         const residency::TransitionReport& report) const {
  expect(report.action == action, "the report names another action");
  expect(same_work(expected.work, report.work), "the report says other work");
  expect(report.no_op() == (expected.work == Expectation::Work::nothing),
         "the report is wrong about a no-op");
  expect(report.no_op() == !report.no_op_reason.empty(), "a no-op has its reason, and nothing else has one");
  expect(report.end_ns >= report.start_ns, "the report ends before it starts");
  expect(report.bytes == expected.bytes,
         fmt::format("expected {} B in the report, got {} B", expected.bytes, report.bytes));
  expect(report.asynchronous == expected.asynchronous, "the report is wrong about being asynchronous");
  if (expected.work == Expectation::Work::nothing) return;
  if (expected.destination) {
    expect(report.destination == expected.destination, "the report resolves another destination");
    expect(report.source == expected.source, "the report resolves another source");
  } else if (expected.removes) {
    expect(report.source == expected.removes, "the report removes elsewhere");
  }
}

void World::carry_out(const Action& action, const Expectation& expected,
                      const residency::TransitionReport& report) {
  const Bytes actual = actual_of(action, expected);
  const Bytes compacted = rules_->carry_out(action, expected, actual);
  expect(addresses_unknown_ || report.compacted == compacted,
         fmt::format("expected {} B compacted, the report says {} B", compacted, report.compacted));
  note_arrival(expected, actual);
  const auto begun = shadow_->begin(action);
  expect(std::holds_alternative<residency::Transition>(begun), "state refuses " + text_of(action));
  shadow_->commit(std::get<residency::Transition>(begun), actual);
  ++completed_;
}

// Each copy that uses a stream ends with an event, and the order of a report is that of the events.
void World::note_arrival(const Expectation& expected, Bytes actual) {
  using Work = Expectation::Work;
  if (expected.work != Work::copy && expected.work != Work::load) return;
  if (expected.source == expected.destination) return;
  if (!expected.source->is_cuda() && !expected.destination->is_cuda()) return;
  if (actual == 0 && !expected.asynchronous) return;
  used_records_ += expected.staging != 0 ? 2 : 1;
  expect(used_records_ <= records_.size(), "a copy between devices or from one ended without an event");
  note_staging(expected, actual);
  if (expected.asynchronous) arrivals_.emplace(rules_->last_arrival(), records_[used_records_ - 1]);
}

// Where a copy between devices went through pinned-host. Its block goes when the machine gets there, which in the
// middle of a plan nobody outside can tell, and so not what later blocks find free.
void World::note_staging(const Expectation& expected, Bytes actual) {
  const Location pinned = Location::pinned_host();
  const bool through = expected.staging != 0;
  if (!expected.source->is_cuda() || actual == 0 || (!through && expected.destination != pinned)) return;
  expect(used_outs_ < outs_.size(), "nothing was copied from a device to the host");
  const std::byte* block = outs_[used_outs_++];
  if (!through || !expected.asynchronous) return;
  staging_was_open_ = true;
  addresses_unknown_ = addresses_unknown_ || several_;
  if (!rules_->budget(pinned)) return;
  const std::uint64_t key = rules_->last_arrival();
  const Bytes offset = static_cast<Bytes>(block - pinned_region_);
  expect(addresses_unknown_ || rules_->arrivals().at(key).offset == offset,
         fmt::format("a copy is staged at {} of pinned-host, expected {}", offset,
                     rules_->arrivals().at(key).offset.value_or(~Bytes{0})));
  rules_->readdress_staging(key, offset);
}

void World::settle_in_the_way(const Action& action) {
  for (const std::uint64_t key : rules_->arrivals_in_the_way(action)) {
    const RuleArrival arrival = rules_->arrivals().at(key);
    expect(!is_under_way(key), text_of(action) + " came before an arrival of its value was settled");
    rules_->settle(key);
    shadow_->settle({rules_manager_, arrival.serial}, arrival.at);
    arrivals_.erase(key);
  }
}

void World::settle_arrival(Random& random) {  // R23
  residency::HandleId value = draw_handle(random);
  Location at = draw_resident_place(random);
  if (!rules_->arrivals().empty() && !random.chance(4)) {
    auto drawn = rules_->arrivals().begin();
    std::advance(drawn, static_cast<std::ptrdiff_t>(random.below(rules_->arrivals().size())));
    value.serial = drawn->second.serial;
    value.manager = rules_manager_;
    at = drawn->second.at;
  }
  doing_ = fmt::format("v{} at {}", value.serial, at.name());
  std::set<std::string> refusals;
  if (value.manager != rules_manager_ || !rules_->handle_is_good(value.serial)) {
    refusals.insert(kHandle);
  } else if (!rules_->resident(value.serial, at)) {
    refusals.insert(kUnavailable);
  }
  const Outcome outcome = attempt([&] { manager_->settle(value, at); });
  if (!settle(outcome, refusals, {})) return;
  finish_tickets();
  expect(!rules_->values()[value.serial].copies.at(at).arriving, "settle returned before the copy was done");
}

void World::give_up(const Action& action, const Expectation& expected) {
  addresses_unknown_ = true;  // a load may have slid blocks before it failed
  rules_->attempt(action, expected);
  const auto begun = shadow_->begin(action);
  expect(std::holds_alternative<residency::Transition>(begun), "state refuses " + text_of(action));
  shadow_->abort(std::get<residency::Transition>(begun));
}

void World::transition(Random& random, Kind kind) {
  const Action action = draw_action(random, kind);
  Expectation expected = rules_->judge(action);
  doing_ = text_of(action);

  // R19: a stream where one end is its device; a wrong one is refused, also on a no-op.
  std::optional<std::size_t> stream;
  const auto* ensure = std::get_if<residency::Ensure>(&action);
  const auto* move = std::get_if<residency::Move>(&action);
  if ((ensure != nullptr || move != nullptr) && expected.allowed() && random.chance(3)) {
    const Location at = *residency::location_of(action);
    const bool moves_data =
        expected.work == Expectation::Work::copy || expected.work == Expectation::Work::load;
    const Location other = Location::cuda((at.is_cuda() ? at.device() + 1 : 0) % devices_);
    if (at.is_cuda() && random.chance(4) && expected.source != other) {
      stream = draw_stream(random, other);
      expected.refusals.insert(kArgument);
    } else if (moves_data && at.is_cuda() && expected.source != at) {
      stream = draw_stream(random, at);
    } else if (moves_data && at.is_host() && expected.source->is_cuda()) {
      stream = draw_stream(random, *expected.source);
    } else if (moves_data && at.is_host() && expected.source->is_host()) {
      stream = draw_stream(random, Location::cuda(0));
      expected.refusals.insert(kArgument);
    }
    if (stream) doing_ += fmt::format(" on stream {}", *stream);
  }

  const bool explained = random.chance(2);
  if (explained && !expected.refusals.count(kArgument)) {
    const residency::Explanation explanation = manager_->explain(Plan{"probe", {action}, {}, {}, {}});
    check_explanation(explanation, rules_->forecast(Plan{"probe", {action}, {}, {}, {}}), {action});
  }

  // R37: a hold may end while a source loads, and counts when the callback is over.
  LiveHold* ending = nullptr;
  if (!holds_.empty() && random.chance(4)) {
    ending = &holds_.front();
    during_load_ = [ending] { ending->hold.release(); };
  }

  residency::TransitionReport report;
  const memory::Stream given = stream ? streams_[*stream].stream : memory::Stream();
  const bool plain = random.chance(2);
  const Outcome outcome = attempt([&] {
    if (plain && ensure != nullptr && ensure->asynchronous) {
      report = manager_->prefetch(ensure->value, ensure->at, ensure->from, given);
    } else if (plain && ensure != nullptr) {
      report = manager_->ensure(ensure->value, ensure->at, ensure->from, given);
    } else if (plain && move != nullptr) {
      report = manager_->move(move->value, move->to, move->from, given);
    } else if (const auto* drop = std::get_if<residency::Drop>(&action); plain && drop != nullptr) {
      report = manager_->drop(drop->value, drop->at);
    } else if (const auto* discard = std::get_if<residency::Discard>(&action); plain && discard != nullptr) {
      report = manager_->discard(discard->value);
    } else {
      report = manager_->run(action, given);
    }
  });
  if (ending != nullptr && !ending->hold.active()) {  // before the load's block was made
    for (const std::uint64_t serial : ending->serials) {
      rules_->protect(serial, ending->at, true, -1);
      shadow_->unprotect({rules_manager_, serial}, ending->at, residency::State::Token::hold);
    }
    holds_.pop_front();
  }
  const std::set<std::string> failures =
      expected.allowed() ? failures_of(action, expected) : std::set<std::string>();
  if (settle(outcome, expected.refusals, failures)) {
    check_report(action, expected, report);
    carry_out(action, expected, report);
  } else if (expected.allowed()) {
    give_up(action, expected);
  } else if (outcome.code != kArgument) {
    const auto refused = shadow_->begin(action);
    expect(std::holds_alternative<residency::Refusal>(refused), "state allows what the manager refuses");
    const Outcome state = attempt([&] { residency::raise(std::get<residency::Refusal>(refused), *shadow_); });
    expect(state.code == outcome.code,
           fmt::format("state says {}, the manager {}", state.code, outcome.code));
  }
}

}  // namespace fheres::lockstep
