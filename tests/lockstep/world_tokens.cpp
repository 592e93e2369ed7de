#include <algorithm>

#include <fmt/format.h>

#include "lockstep/pattern.hpp"
#include "lockstep/world.hpp"

namespace fheres::lockstep {
namespace {

using residency::State;

template <class T>
typename std::list<T>::iterator any_of(test::Random& random, std::list<T>& from) {
  auto found = from.begin();
  std::advance(found, static_cast<std::ptrdiff_t>(random.below(from.size())));
  return found;
}

std::string listed(const std::vector<residency::HandleId>& handles) {
  std::string text;
  for (const residency::HandleId handle : handles) text += fmt::format("v{} ", handle.serial);
  return text;
}

}  // namespace

/// Handles for an acquire or a hold at `at`, mostly of what is there, and why they would be refused.
std::vector<residency::HandleId> World::draw_tokens(Random& random, Location at,
                                                    std::set<std::string>& refusals) {
  std::vector<residency::HandleId> handles;
  const bool sensible = !random.chance(6);
  for (std::uint64_t i = random.chance(25) ? 0 : 1 + random.below(3); i > 0; --i) {
    const residency::HandleId handle = draw_handle(random);
    const bool good = handle.manager == rules_manager_ && rules_->handle_is_good(handle.serial);
    const bool there = good && rules_->resident(handle.serial, at);
    if (sensible && !there) continue;
    if (!good) refusals.insert(kHandle);
    if (good && !there) refusals.insert(kUnavailable);
    handles.push_back(handle);
  }
  if (handles.empty()) refusals.insert(kArgument);  // R29: an empty set is refused
  return handles;
}

void World::acquire(Random& random) {
  const Location at = draw_resident_place(random);
  std::set<std::string> refusals;
  const std::vector<residency::HandleId> handles = draw_tokens(random, at, refusals);
  if (!rules_->present(at)) refusals.insert(kArgument);
  constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t stream = at.is_cuda() ? draw_stream(random, at).value_or(kNone) : kNone;
  if (random.chance(15)) {  // R30
    const Location device = Location::cuda(static_cast<int>(random.below(2)));
    stream = random.chance(2) ? kNone : draw_stream(random, device).value_or(kNone);
  }
  const memory::Stream given = stream != kNone ? streams_[stream].stream : memory::Stream();
  if (at.is_cuda() ? !given || given.device() != at : static_cast<bool>(given)) refusals.insert(kArgument);
  doing_ = listed(handles) + "at " + at.name();
  residency::Lease lease;
  const Outcome outcome = attempt([&] { lease = manager_->acquire(handles, at, given); });
  if (!settle(outcome, refusals, {})) return;
  LiveLease live{std::move(lease), at, {}, {}};
  for (const residency::HandleId handle : handles) {
    if (std::count(live.serials.begin(), live.serials.end(), handle.serial) != 0) continue;
    live.serials.push_back(handle.serial);
    rules_->protect(handle.serial, at, false, 1);
    shadow_->protect(handle, at, State::Token::use);
  }
  if (stream != kNone) live.streams.push_back(stream);
  expect(live.lease.active() && live.lease.at() == at, "a new lease is not active, or elsewhere");
  expect(live.lease.handles().size() == live.serials.size(), "a lease does not merge duplicates");
  leases_.push_back(std::move(live));
}

void World::add_stream(Random& random) {
  if (leases_.empty()) return;
  LiveLease& live = *any_of(random, leases_);
  const Location device = random.chance(8) ? Location::cuda(static_cast<int>(random.below(2))) : live.at;
  const std::size_t stream = draw_stream(random, device).value_or(0);
  std::set<std::string> refusals;
  if (streams_[stream].device != live.at) refusals.insert(kArgument);  // R30, host leases too
  doing_ = fmt::format("stream {}", stream);
  const Outcome outcome = attempt([&] { live.lease.add_consumer_stream(streams_[stream].stream); });
  if (settle(outcome, refusals, {})) live.streams.push_back(stream);
}

// A host lease is read at once; a device lease by queued work, which runs whenever the machine steps there.
void World::read(Random& random) {
  if (leases_.empty()) return;
  LiveLease& live = *any_of(random, leases_);
  const std::uint64_t serial = live.serials[random.below(live.serials.size())];
  const residency::BlockView view = live.lease.view({rules_manager_, serial});
  const ValueSpec& spec = rules_->values()[serial].spec;
  expect(view.at == live.at && view.spec->name == spec.name, "a view of something else");
  expect(view.bytes == rules_->values()[serial].copies.at(live.at).actual, "a view of another size");
  doing_ = fmt::format("v{} at {}", serial, live.at.name());
  if (live.at.is_host()) {
    expect(has_pattern_of(serial, view), "a host lease reads something else");
    return count(kind_, {});
  }
  const std::uint64_t content = contents_[serial];
  const auto reader = [late = late_readers_, view, content, what = doing_] {
    if (!has_pattern(view.data, view.spec->logical_bytes, content))
      late->push_back("a queued reader of " + what + " found something else");
  };
  const Outcome outcome = attempt(
      [&] { driver_->enqueue(streams_[live.streams[random.below(live.streams.size())]].stream, reader); });
  settle(outcome, {}, {});
}

void World::end_lease(LiveLease& live, Ending how) {
  const bool wait = how == Ending::wait;
  doing_ = fmt::format("at {}{}{}", live.at.name(), wait ? ", waiting" : "",
                       how == Ending::destroy ? ", by its destructor" : "");
  const Outcome outcome = attempt([&] {
    if (how == Ending::destroy) {
      const residency::Lease ending = std::move(live.lease);  // R34
    } else {
      live.lease.release(wait);
    }
  });
  if (!settle(outcome, {}, {}) && live.lease.active())
    return;  // an event could not be recorded: nothing changed
  expect(!live.lease.active(), "a released lease is active");
  for (const std::uint64_t serial : live.serials) {
    const Outcome look = attempt([&] { live.lease.view({rules_manager_, serial}); });
    expect(look.code == "residency/lifetime-closed", "a released lease can be read");  // R31
  }
  expect(attempt([&] { live.lease.release(); }).ok(), "a second release is not a no-op");
  Ticket ticket{{}, live.serials, live.at};
  for (const std::size_t stream : live.streams) {
    ticket.positions.emplace_back(stream, machine_->submitted(streams_[stream].stream));
    if (wait && outcome.ok()) {
      expect(machine_->executed(streams_[stream].stream) >= ticket.positions.back().second,
             "a waiting release returned before its consumers");
    }
  }
  const std::uint64_t key = next_key_++;
  for (const std::uint64_t serial : live.serials) {
    if (live.at.is_cuda()) {  // R32
      rules_->to_pending(serial, live.at, key);
      shadow_->use_to_pending({rules_manager_, serial}, live.at);
    } else {
      rules_->protect(serial, live.at, false, -1);
      shadow_->unprotect({rules_manager_, serial}, live.at, State::Token::use);
    }
  }
  if (live.at.is_cuda()) tickets_.emplace(key, std::move(ticket));
  live.serials.clear();
}

void World::release_lease(Random& random) {
  if (leases_.empty()) return;
  const auto live = any_of(random, leases_);
  end_lease(*live, static_cast<Ending>(random.below(3)));
  if (live->serials.empty()) leases_.erase(live);
}

void World::finish_tickets() {
  finish_arrivals();
  for (auto entry = tickets_.begin(); entry != tickets_.end();) {
    const auto& [key, ticket] = *entry;
    const bool complete =
        std::all_of(ticket.positions.begin(), ticket.positions.end(), [&](const auto& position) {
          return machine_->executed(streams_[position.first].stream) >= position.second;
        });
    if (!complete) {
      ++entry;
      continue;
    }
    rules_->finish(key);
    for (const std::uint64_t serial : ticket.serials) {
      shadow_->unprotect({rules_manager_, serial}, ticket.at, State::Token::pending);
    }
    entry = tickets_.erase(entry);
  }
}

void World::hold(Random& random) {
  const Location at = draw_resident_place(random);
  std::set<std::string> refusals;
  const std::vector<residency::HandleId> handles = draw_tokens(random, at, refusals);
  if (!rules_->present(at)) refusals.insert(kArgument);
  doing_ = listed(handles) + "at " + at.name();
  residency::Hold token;
  const Outcome outcome = attempt([&] { token = manager_->hold(handles, at); });
  if (!settle(outcome, refusals, {})) return;
  LiveHold live{std::move(token), at, {}};
  for (const residency::HandleId handle : handles) {
    if (std::count(live.serials.begin(), live.serials.end(), handle.serial) != 0) continue;
    live.serials.push_back(handle.serial);
    rules_->protect(handle.serial, at, true, 1);
    shadow_->protect(handle, at, State::Token::hold);
  }
  holds_.push_back(std::move(live));
}

void World::release_hold(Random& random) {
  if (holds_.empty()) return;
  const auto live = any_of(random, holds_);
  if (random.chance(2)) {
    live->hold.release();
    live->hold.release();  // R37
    expect(!live->hold.active(), "a released hold is active");
  }  // else its destructor does it
  for (const std::uint64_t serial : live->serials) {
    rules_->protect(serial, live->at, true, -1);
    shadow_->unprotect({rules_manager_, serial}, live->at, State::Token::hold);
  }
  holds_.erase(live);
  count(kind_, {});
}

void World::reserve(Random& random) {  // R36
  const Location at = draw_location(random);
  const Bytes bytes = random.chance(6) ? 0 : uniform_ ? 512 * (1 + random.below(3)) : random.below(1500);
  const std::uint64_t key = next_key_++;
  const std::string label = random.chance(30) ? "" : fmt::format("room {}", key);
  std::set<std::string> refusals;
  if (label.empty()) refusals.insert(kArgument);
  if (!rules_->present(at)) {
    refusals.insert({kArgument, kUnavailable});
  } else if (!rules_->admits(at, round_up_to_granule(bytes))) {
    refusals.insert(kBudget);
  }
  doing_ = fmt::format("{} B at {}", bytes, at.name());
  residency::Reservation reservation;
  const Outcome outcome = attempt([&] { reservation = manager_->reserve(at, bytes, label); });
  if (!settle(outcome, refusals, {})) return;
  rules_->reserve(key, at, bytes, label);
  shadow_reservations_[key] = std::get<residency::ReservationId>(shadow_->reserve({at, bytes, label}));
  reservations_.push_back({std::move(reservation), key});
}

/// The rules' and the state's half of a release.
void World::release_in_rules(std::uint64_t key) {
  rules_->release(key);
  const auto left = rules_->reservations().find(key);
  if (left == rules_->reservations().end()) {
    shadow_->release(shadow_reservations_.at(key));
    shadow_reservations_.erase(key);
  } else {
    shadow_->resize(shadow_reservations_.at(key), left->second.left);
  }
}

void World::free_in_rules(std::uint64_t key) {
  const std::uint64_t reservation = rules_->blocks().at(key).reservation;
  rules_->free_block(key);
  const auto left = rules_->reservations().find(reservation);
  if (left == rules_->reservations().end()) {
    shadow_->release(shadow_reservations_.at(reservation));
    shadow_reservations_.erase(reservation);
  } else if (!left->second.open) {
    shadow_->resize(shadow_reservations_.at(reservation), left->second.left);
  }
}

void World::release_reservation(Random& random) {
  if (reservations_.empty()) return;
  const auto live = any_of(random, reservations_);
  if (random.chance(2)) {
    live->reservation.release();
    live->reservation.release();
    expect(!live->reservation.active(), "a released reservation is active");
    expect(attempt([&] { live->reservation.allocate(1); }).code == "residency/lifetime-closed",
           "a released reservation gives blocks");
  }
  release_in_rules(live->key);
  reservations_.erase(live);
  count(kind_, {});
}

void World::allocate(Random& random) {
  const Location at = draw_location(random);
  const Bytes bytes = uniform_ ? 512 - random.below(255) : 1 + random.below(1024);
  const Bytes charge = round_up_to_granule(bytes);
  std::set<std::string> refusals, failures;
  if (!rules_->present(at)) {
    refusals.insert({kArgument, kUnavailable});
  } else if (!rules_->admits(at, charge)) {
    refusals.insert(kBudget);
  } else if (!rules_->has_piece(at, bytes)) {  // R27
    failures.insert(kBudget);
  }
  doing_ = fmt::format("{} B at {}", bytes, at.name());
  residency::Allocation block;
  const Outcome outcome = attempt([&] { block = manager_->allocate(at, bytes); });
  const std::uint64_t key = next_key_++;
  if (!settle(outcome, refusals, failures)) {
    addresses_unknown_ = true;
    if (refusals.empty()) {  // R20: peaks keep the attempt
      rules_->reserve(key, at, charge, "unadopted");
      rules_->release(key);
      shadow_->release(std::get<residency::ReservationId>(shadow_->reserve({at, charge, "unadopted"})));
      version_may_grow_ = true;
    }
    return;
  }
  rules_->reserve(key, at, charge, "unadopted");
  shadow_reservations_[key] = std::get<residency::ReservationId>(shadow_->reserve({at, charge, "unadopted"}));
  const std::uint64_t block_key = next_key_++;
  rules_->carve(block_key, key, bytes);
  rules_->release(key);  // only the block pays for itself
  expect(block.at() == at && block.bytes() == bytes, "an allocation of another place or size");
  blocks_.push_back({std::move(block), block_key});
}

std::optional<World::OpenReservation> World::draw_reservation(Random& random) {
  std::vector<OpenReservation> open;
  for (LiveReservation& live : reservations_) open.push_back({&live.reservation, live.key});
  for (LiveScope& live : scopes_) {
    for (std::size_t i = 0; i < live.keys.size(); ++i) {
      const residency::ReservationSpec& spec = live.plan.reservations[i];
      open.push_back({&live.scope.reservation(spec.label, spec.at), live.keys[i]});
    }
  }
  if (open.empty()) return std::nullopt;
  const OpenReservation drawn = open[random.below(open.size())];
  const RuleReservation& room = rules_->reservations().at(drawn.key);
  expect(drawn.reservation->active(), "an open reservation is not active");
  expect(drawn.reservation->available() == room.available(),
         fmt::format("expected {} B available, got {} B", room.available(), drawn.reservation->available()));
  return drawn;
}

void World::carve(Random& random) {
  const std::optional<OpenReservation> open = draw_reservation(random);
  if (!open) return;
  const RuleReservation& room = rules_->reservations().at(open->key);
  const Bytes bytes = uniform_ ? 512 - random.below(255) : 1 + random.below(900);
  std::set<std::string> refusals, failures;
  if (round_up_to_granule(bytes) > room.available()) refusals.insert(kBudget);
  if (!rules_->has_piece(room.at, bytes)) failures.insert(kBudget);
  doing_ = fmt::format("{} B out of `{}` with {} B", bytes, room.label, room.available());
  residency::Allocation block;
  const Outcome outcome = attempt([&] { block = open->reservation->allocate(bytes); });
  if (!settle(outcome, refusals, failures)) {
    addresses_unknown_ = true;
    return;
  }
  const std::uint64_t key = next_key_++;
  rules_->carve(key, open->key, bytes);
  blocks_.push_back({std::move(block), key});
}

void World::adopt_block(Random& random) {
  if (blocks_.empty()) return;
  const auto live = any_of(random, blocks_);
  const RuleBlock block = rules_->blocks().at(live->key);
  ValueSpec spec = draw_spec(random);
  spec.storage_bytes = round_up_to_granule(block.bytes);
  spec.logical_bytes = random.below(block.bytes + 1);
  Location at = block.at;
  std::set<std::string> refusals;
  const std::optional<std::uint64_t> announced =
      random.chance(2) ? draw_announced(random) : std::optional<std::uint64_t>();
  if (announced) {
    spec = rules_->values()[*announced].spec;
    if (block.bytes < spec.logical_bytes || block.bytes > spec.storage_bytes) {
      refusals.insert({kArgument, kMaterialization, kBudget});
    }
    const RuleReservation& paying = rules_->reservations().at(block.reservation);
    const Bytes own = round_up_to_granule(block.bytes);
    if (paying.open) {
      if (paying.available() + own < spec.storage_bytes) refusals.insert(kBudget);
    } else if (spec.storage_bytes > own) {
      if (paying.label != "unadopted") return;  // its reservation is gone, and nothing says who pays the rest
      if (!rules_->admits(at, spec.storage_bytes - own)) refusals.insert(kBudget);
    }
    if (!refusals.empty() && random.chance(2)) return;
  } else if (random.chance(12)) {
    at = places_[random.below(places_.size())];
    if (at != block.at) refusals.insert({kArgument, kMaterialization, kOwnership, kBudget});
  } else if (random.chance(12)) {
    spec.logical_bytes = block.bytes + 1;
    spec.storage_bytes = round_up_to_granule(spec.logical_bytes);
    refusals.insert({kArgument, kMaterialization, kBudget});
  } else if (random.chance(12) && spec.storage_bytes > kGranule) {
    spec.storage_bytes -= kGranule;
    spec.logical_bytes = std::min(spec.logical_bytes, spec.storage_bytes);
    refusals.insert({kArgument, kMaterialization});
  }
  const std::uint64_t content = next_content_++;
  fill_pattern(live->block.data(), live->block.bytes(), content);
  doing_ = fmt::format("v{} of {} B in {} B at {} as {}", contents_.size(), spec.storage_bytes, block.bytes,
                       block.at.name(), at.name());
  residency::HandleId handle;
  const Outcome outcome = attempt([&] {
    if (announced) {
      manager_->adopt(std::move(live->block), at, residency::HandleId{rules_manager_, *announced});
    } else {
      handle = manager_->adopt(std::move(live->block), at, spec);
    }
  });
  if (!settle(outcome, refusals, {})) {
    expect(static_cast<bool>(live->block), "a failed adopt took the block");
    return;
  }
  const residency::ReservationId paying = shadow_reservations_.at(block.reservation);
  if (announced) {
    if (spec.storage_bytes > shadow_->reservation(paying)->spec.bytes)
      shadow_->resize(paying, spec.storage_bytes);
    rules_->adopt_announced(*announced, live->key);
    contents_[*announced] = content;
    expect(!shadow_->adopt({rules_manager_, *announced}, at, block.bytes, paying), "state refuses to adopt");
  } else {
    rules_->adopt_block(spec, live->key);
    expect(std::holds_alternative<residency::HandleId>(shadow_->adopt(spec, at, block.bytes, paying)),
           "state refuses to adopt a block");
  }
  if (rules_->reservations().count(block.reservation) == 0) {
    shadow_->release(paying);
    shadow_reservations_.erase(block.reservation);
  }
  blocks_.erase(live);
  if (!announced) new_value(content, handle);
}

void World::free_block(Random& random) {
  if (blocks_.empty()) return;
  const auto live = any_of(random, blocks_);
  free_in_rules(live->key);
  blocks_.erase(live);
  count(kind_, {});
}

}  // namespace fheres::lockstep
