#include "lockstep/rules.hpp"

#include <algorithm>
#include <utility>

namespace fheres::lockstep {
namespace {

bool is_exclusive(const RuleValue& value) {
  return value.spec.replica_mode == residency::ReplicaMode::exclusive;
}

}  // namespace

Rules::Rules(residency::ManagerId manager, const std::map<Location, Bytes>& budgets, int devices,
             residency::CopyRules copies)
    : manager_(manager), devices_(devices), copies_(std::move(copies)), budgets_(budgets) {
  for (const auto& [at, bytes] : budgets)
    if (at != Location::pageable_host()) arenas_.emplace(at, memory::Arena(bytes));
}

std::optional<Bytes> Rules::budget(Location at) const {
  const auto found = budgets_.find(at);
  return found == budgets_.end() ? std::nullopt : std::optional(found->second);
}
bool Rules::handle_is_good(std::uint64_t serial) const {
  return serial < values_.size() && !values_[serial].discarded;
}
bool Rules::resident(std::uint64_t serial, Location at) const {
  return handle_is_good(serial) && values_[serial].copies.count(at) != 0;
}

// R7: every replica is charged the fixed storage bytes.
Bytes Rules::used(Location at) const {
  Bytes sum = 0;
  for (const RuleValue& value : values_) sum += value.copies.count(at) * value.spec.storage_bytes;
  return sum;
}
Bytes Rules::reserved(Location at) const {
  Bytes sum = 0;
  for (const auto& [key, reservation] : reservations_) sum += reservation.at == at ? reservation.left : 0;
  for (const auto& [key, arrival] : arrivals_) {
    sum += at == Location::pinned_host() ? arrival.staging : 0;
    sum += at == arrival.at ? arrival.temporary : 0;
  }
  return sum;
}
Bytes Rules::allocated(Location at) const {
  Bytes sum = 0;
  for (const RuleValue& value : values_) {
    const auto copy = value.copies.find(at);
    if (copy != value.copies.end() && !copy->second.foreign) sum += rounded(copy->second.actual);
  }
  for (const auto& [key, block] : blocks_) sum += block.at == at ? rounded(block.bytes) : 0;
  for (const auto& [key, arrival] : arrivals_) {
    sum += at == Location::pinned_host() && arrival.staging != 0 ? rounded(arrival.staged) : 0;
    sum += at == arrival.at ? rounded(arrival.kept) : 0;
  }
  return sum;
}
bool Rules::admits(Location at, Bytes bytes) const {  // R24
  const std::optional<Bytes> limit = budget(at);
  return !limit || charged(at) + bytes <= *limit;
}
Bytes Rules::peak_used(Location at) const {
  const auto found = peaks_.find(at);
  return found == peaks_.end() ? 0 : found->second.used;
}
Bytes Rules::peak_charged(Location at) const {
  const auto found = peaks_.find(at);
  return found == peaks_.end() ? 0 : found->second.charged;
}

void Rules::note(Location at, Bytes more_used, Bytes more_reserved) {
  Peak& peak = peaks_[at];
  peak.used = std::max(peak.used, used(at) + more_used);
  peak.charged = std::max(peak.charged, charged(at) + more_used + more_reserved);
}
void Rules::restart_peaks() {
  for (auto& [at, peak] : peaks_) peak = {used(at), charged(at)};
}

std::vector<std::uint64_t> Rules::fingerprint() const {
  std::vector<std::uint64_t> print;
  for (const RuleValue& value : values_) {
    print.push_back(value.discarded ? 1 : 0);
    for (const auto& [at, copy] : value.copies) {
      print.insert(print.end(),
                   {at.index(), copy.actual, copy.use, copy.hold, copy.pending.size(), copy.arriving});
    }
    print.push_back(~std::uint64_t{0});
  }
  for (const auto& [key, reservation] : reservations_) print.insert(print.end(), {key, reservation.left});
  return print;
}

bool Rules::any_token() const {
  for (const RuleValue& value : values_) {
    for (const auto& [at, copy] : value.copies) {
      if (copy.use + copy.hold != 0) return true;
    }
  }
  return !reservations_.empty();
}

// --- Actions.

Expectation Rules::judge(const Action& action) const {
  Expectation expected;
  const residency::HandleId handle = residency::value_of(action);
  if (handle.manager != manager_ || !handle_is_good(handle.serial)) {  // R6
    expected.refusals.insert(kHandle);
    return expected;
  }
  const RuleValue& value = values_[handle.serial];

  if (const auto* ensure = std::get_if<residency::Ensure>(&action)) {               // R9
    if (!present(ensure->at)) expected.refusals.insert({kArgument, kUnavailable});  // R3
    if (ensure->from && value.copies.count(*ensure->from) == 0)
      expected.refusals.insert(kUnavailable);  // R13
    if (value.copies.count(ensure->at) != 0) return expected;
    if (is_exclusive(value) && !value.copies.empty()) expected.refusals.insert(kOwnership);
    judge_install(expected, value, ensure->at, ensure->from, false);
    if (ensure->asynchronous) {  // R21
      const Location pageable = Location::pageable_host();
      const bool copies = expected.work == Expectation::Work::copy;
      const bool expands = expected.work == Expectation::Work::expand && ensure->at.is_cuda();
      if ((!copies && !expands) || expected.source == pageable || ensure->at == pageable)
        expected.refusals.insert(kUnavailable);
      expected.asynchronous = true;
    }
    return expected;
  }
  if (const auto* move = std::get_if<residency::Move>(&action)) return judge_move(value, *move);

  if (const auto* drop = std::get_if<residency::Drop>(&action)) {  // R11
    if (!present(drop->at)) expected.refusals.insert({kArgument, kUnavailable});
    const auto copy = value.copies.find(drop->at);
    if (copy == value.copies.end()) return expected;
    if (copy->second.is_protected()) expected.refusals.insert(kInUse);  // R35
    if (value.copies.size() == 1 && must_stay(handle.serial)) expected.refusals.insert(kOwnership);
    expected.work = Expectation::Work::remove;
    expected.removes = drop->at;
    return expected;
  }
  expected.work = Expectation::Work::remove;  // R12
  if (is_needed(handle.serial)) expected.refusals.insert(kOwnership);
  for (const auto& [at, copy] : value.copies) {
    if (copy.is_protected()) expected.refusals.insert(kInUse);
  }
  return expected;
}

// R15, R16: the destination is charged while everything else still is; a load that is made elsewhere is charged there
// as well.
void Rules::judge_install(Expectation& expected, const RuleValue& value, Location at,
                          std::optional<Location> from, bool is_move) const {
  expected.destination = at;
  const Bytes storage = value.spec.storage_bytes;
  if (!admits(at, storage)) expected.refusals.insert(kBudget);
  if (judge_expansion(expected, value, at, from, is_move)) return;
  if (value.copies.empty()) {
    if (from || !value.source) {
      expected.refusals.insert(kUnavailable);
      return;
    }
    expected.work = Expectation::Work::load;
    expected.source = value.source;
    expected.bytes = expected.block = value.spec.logical_bytes;
    expected.has_piece = has_piece(at, expected.bytes) && has_piece(*value.source, expected.bytes);
    if (*value.source != at && !admits(*value.source, storage)) expected.refusals.insert(kBudget);
    if (is_staged(value.source, at)) expected.staging = storage;
    if (expected.staging != 0)
      expected.has_piece = expected.has_piece && has_piece(Location::pinned_host(), expected.bytes);
    if (!admits(Location::pinned_host(), expected.staging)) expected.refusals.insert(kBudget);
    return;
  }
  expected.work = Expectation::Work::copy;
  expected.source = from ? from : source_of(value, at);
  if (value.copies.count(*expected.source) == 0) return;  // refused above
  expected.bytes = expected.block = value.copies.at(*expected.source).actual;
  expected.has_piece = has_piece(at, expected.bytes);
  if (is_staged(expected.source, at)) {
    expected.staging = storage;
    if (!admits(Location::pinned_host(), storage)) expected.refusals.insert(kBudget);
    expected.has_piece = expected.has_piece && has_piece(Location::pinned_host(), expected.bytes);
  }
  if (is_move) {
    expected.removes = expected.source;
    if (value.copies.at(*expected.source).is_protected()) expected.refusals.insert(kInUse);
  }
}

Expectation Rules::judge_move(const RuleValue& value, const residency::Move& move) const {  // R10
  Expectation expected;
  if (!present(move.to)) expected.refusals.insert({kArgument, kUnavailable});  // R3
  if (move.from && value.copies.count(*move.from) == 0) expected.refusals.insert(kUnavailable);
  if (value.copies.count(move.to) == 0) {
    judge_install(expected, value, move.to, move.from, true);
    return expected;
  }
  const std::optional<Location> source = move.from ? move.from : source_of(value, move.to);
  if (!source || *source == move.to) return expected;
  expected.work = Expectation::Work::remove;
  expected.removes = source;
  const auto copy = value.copies.find(*source);
  if (copy != value.copies.end() && copy->second.is_protected()) expected.refusals.insert(kInUse);
  return expected;
}

void Rules::attempt(const Action& action, const Expectation& expected) {
  const Bytes storage = values_[residency::value_of(action).serial].spec.storage_bytes;
  const auto exists = [&](Location at) { return budget(at) || peaks_.count(at) != 0; };
  if (!expected.destination) return;
  if (exists(*expected.destination)) note(*expected.destination, storage, expected.temporary);
  if (expected.work == Expectation::Work::load && expected.source != expected.destination &&
      exists(*expected.source)) {
    note(*expected.source, 0, storage);
  }
  if (expected.staging != 0 && exists(Location::pinned_host()))
    note(Location::pinned_host(), 0, expected.staging);
}

Bytes Rules::carry_out(const Action& action, const Expectation& expected, Bytes actual) {
  const std::uint64_t serial = residency::value_of(action).serial;
  RuleValue& value = values_[serial];
  if (std::holds_alternative<residency::Discard>(action)) {
    while (!value.copies.empty()) remove(serial, value.copies.begin()->first);
    value.source.reset();
    value.discarded = true;
    return 0;
  }
  Bytes before = 0, after = 0;
  for (const auto& [at, bytes] : compacted_) before += bytes;
  if (expected.destination) {
    note(*expected.destination, value.spec.storage_bytes, expected.temporary);
    if (expected.work == Expectation::Work::load && expected.source != expected.destination) {
      note(*expected.source, 0, value.spec.storage_bytes);
    }
    if (expected.staging != 0) note(Location::pinned_host(), 0, expected.staging);
    std::optional<Bytes> made;  // what a load makes elsewhere is there until its copy is done
    const bool elsewhere =
        expected.work == Expectation::Work::load && expected.source != expected.destination;
    if (elsewhere) made = take(*expected.source, actual);
    const bool beside = expected.work == Expectation::Work::expand && expected.source != expected.destination;
    if (beside) made = take(*expected.destination, expected.bytes, expected.asynchronous);
    RuleCopy copy;
    copy.actual = actual;
    copy.offset =
        beside ? take_beside(*expected.destination, made, expected.bytes, actual, expected.asynchronous)
               : take(*expected.destination, actual, expected.asynchronous);
    const Bytes sent = expected.work == Expectation::Work::expand ? expected.bytes : actual;
    std::optional<Bytes> staged;
    if (expected.staging != 0) staged = take(Location::pinned_host(), sent, expected.asynchronous);
    if (!expected.asynchronous) give_back(Location::pinned_host(), staged, sent);
    if (expected.asynchronous) {  // R21
      RuleArrival arrival;
      arrival.serial = serial;
      arrival.from = *expected.source;
      arrival.at = *expected.destination;
      arrival.staging = expected.staging;
      arrival.staged = sent;
      arrival.offset = staged;
      arrival.reads = expected.backing.value_or(serial);
      arrival.temporary = expected.temporary;
      if (beside) {
        arrival.kept = expected.bytes;
        arrival.kept_offset = made;
      }
      copy.arriving = true;
      copy.pending.insert(next_arrival_);
      values_[arrival.reads].copies.at(*expected.source).pending.insert(next_arrival_);
      arrivals_.emplace(next_arrival_++, arrival);
    } else if (beside) {
      give_back(*expected.destination, made, expected.bytes);
    }
    value.copies.emplace(*expected.destination, std::move(copy));
    if (elsewhere) give_back(*expected.source, made, actual);
  }
  if (expected.removes) remove(serial, *expected.removes);
  for (const auto& [at, bytes] : compacted_) after += bytes;
  return after - before;
}

void Rules::remove(std::uint64_t serial, Location at) {
  const auto copy = values_[serial].copies.find(at);
  give_back(at, copy->second.offset, copy->second.actual);
  values_[serial].copies.erase(copy);
}

// --- Values.

void Rules::adopt_foreign(const ValueSpec& spec, Location at, Bytes actual,
                          std::optional<std::uint64_t> reservation) {
  if (reservation) reservations_.at(*reservation).left -= spec.storage_bytes;  // R38
  RuleValue value;
  value.spec = spec;
  value.spec.recoverability = residency::Recoverability::must_preserve;  // R4
  RuleCopy copy;
  copy.actual = actual;
  copy.foreign = true;
  value.copies.emplace(at, std::move(copy));
  values_.push_back(std::move(value));
  note(at, 0, 0);
}

void Rules::install_block(RuleValue& value, std::uint64_t block) {
  const RuleBlock taken = blocks_.at(block);
  blocks_.erase(block);
  RuleReservation& reservation = reservations_.at(taken.reservation);
  // A block's own charge grows to the value's; what comes out of a reservation was paid there.
  reservation.left -= std::min(reservation.left, value.spec.storage_bytes);
  reservation.carved -= rounded(taken.bytes);
  RuleCopy copy;
  copy.actual = taken.bytes;
  copy.offset = taken.offset;
  value.copies.emplace(taken.at, std::move(copy));
  value.announced = false;
  if (!reservation.open && reservation.left == 0) reservations_.erase(taken.reservation);
  note(taken.at, 0, 0);
}
void Rules::adopt_block(const ValueSpec& spec, std::uint64_t block) {
  announce(spec);
  install_block(values_.back(), block);
}
void Rules::announce(const ValueSpec& spec) {
  RuleValue value;
  value.spec = spec;
  value.spec.recoverability = residency::Recoverability::must_preserve;
  value.announced = true;
  values_.push_back(std::move(value));
}
void Rules::adopt_announced(std::uint64_t serial, std::uint64_t block) {
  install_block(values_[serial], block);
}

void Rules::register_source(const ValueSpec& spec, Location source) {
  RuleValue value;
  value.spec = spec;
  value.source = source;
  values_.push_back(std::move(value));
}

// --- Tokens.

void Rules::protect(std::uint64_t serial, Location at, bool as_hold, int by) {
  RuleCopy& copy = values_[serial].copies.at(at);
  unsigned& count = as_hold ? copy.hold : copy.use;
  count = static_cast<unsigned>(static_cast<int>(count) + by);
}
void Rules::to_pending(std::uint64_t serial, Location at, std::uint64_t ticket) {
  protect(serial, at, false, -1);
  values_[serial].copies.at(at).pending.insert(ticket);
}
void Rules::finish(std::uint64_t ticket) {
  for (RuleValue& value : values_) {
    for (auto& [at, copy] : value.copies) copy.pending.erase(ticket);
  }
}
bool Rules::is_pending(std::uint64_t ticket) const {
  for (const RuleValue& value : values_) {
    for (const auto& [at, copy] : value.copies) {
      if (copy.pending.count(ticket) != 0) return true;
    }
  }
  return false;
}

void Rules::reserve(std::uint64_t key, Location at, Bytes bytes, const std::string& label) {  // R36
  RuleReservation reservation;
  reservation.at = at;
  reservation.label = label;
  reservation.left = rounded(bytes);
  reservations_.emplace(key, std::move(reservation));
  note(at, 0, 0);
}
void Rules::release(std::uint64_t key) {
  const auto found = reservations_.find(key);
  if (found == reservations_.end()) return;
  found->second.open = false;
  found->second.left = found->second.carved;  // blocks out of it stay paid for
  if (found->second.left == 0) reservations_.erase(found);
}
void Rules::carve(std::uint64_t block, std::uint64_t reservation, Bytes bytes) {
  RuleReservation& from = reservations_.at(reservation);
  from.carved += rounded(bytes);
  blocks_.emplace(block, RuleBlock{reservation, from.at, bytes, take(from.at, bytes)});
}
void Rules::free_block(std::uint64_t block) {
  const RuleBlock freed = blocks_.at(block);
  blocks_.erase(block);
  give_back(freed.at, freed.offset, freed.bytes);
  RuleReservation& from = reservations_.at(freed.reservation);
  from.carved -= rounded(freed.bytes);
  if (from.open) return;
  from.left -= rounded(freed.bytes);
  if (from.left == 0) reservations_.erase(freed.reservation);
}

}  // namespace fheres::lockstep
