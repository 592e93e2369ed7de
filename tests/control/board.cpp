#include "board.hpp"

#include <array>
#include <queue>
#include <set>

#include <fheres/base/check.hpp>
#include <fheres/memory/bandwidth.hpp>

namespace fheres::control::testing {

using memory::Location;
using residency::Materialization;
using residency::ValueRecord;

namespace {

constexpr Board::Position bit(std::size_t value, std::size_t place) {
  return Board::Position{1} << (4 * value + place);
}
unsigned bits(unsigned mask) { return static_cast<unsigned>(__builtin_popcount(mask)); }

// Positions that were seen, and the bytes that led there: open addressing, because there are many.
class Seen {
 public:
  Seen() : slots_(1024, Slot{kNone, 0}) {}
  // Whether these bytes are fewer than any that led there before.
  bool improve(Board::Position position, Bytes bytes) {
    if (2 * size_ >= slots_.size()) grow();
    Slot& slot = find(position);
    if (slot.position == position && slot.bytes <= bytes) return false;
    if (slot.position != position) ++size_;
    slot = {position, bytes};
    return true;
  }
  Bytes at(Board::Position position) { return find(position).bytes; }
  std::size_t size() const { return size_; }

 private:
  static constexpr Board::Position kNone = ~Board::Position{0};
  struct Slot {
    Board::Position position;
    Bytes bytes;
  };
  Slot& find(Board::Position position) {
    std::uint64_t hash = position * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 31;
    for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].position == position || slots_[i].position == kNone) return slots_[i];
  }
  void grow() {
    std::vector<Slot> old(4 * slots_.size(), Slot{kNone, 0});
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.position != kNone) find(slot.position) = slot;
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace

Board::Board(const residency::State& state, const Request& request, const Policy& policy)
    : manager_(state.manager()), copies_(state.copies()) {
  std::set<Location> used;
  for (const residency::Account& account : state.accounts()) used.insert(account.at);
  for (const ValueRecord& record : state.records()) {
    for (const Materialization& there : record.materializations) used.insert(there.at);
    if (record.source) used.insert(*record.source);
  }
  for (const Requirement& wanted : request.require) used.insert(wanted.at);
  for (const auto& wanted : request.reserve) used.insert(wanted.at);
  const std::set<Location> named = used;
  for (const Location from : named)
    for (const Location tier : policy.fallback_tiers(from))
      if (state.present(tier)) used.insert(tier);
  FHERES_CHECK(used.size() <= kPlaces && state.records().size() <= kValues);
  for (const Location at : used) places_.push_back({.at = at});
  for (Place& place : places_) {
    if (const residency::Account* account = state.account(place.at)) {
      place.has_account = true;
      place.budget = account->budget;
      place.reserved = account->reserved;
    }
    for (const Location tier : policy.fallback_tiers(place.at))
      if (const auto known = place_of(tier)) place.tiers.push_back(*known);
  }
  for (const auto& wanted : request.reserve) {
    reservations_.emplace_back(*place_of(wanted.at), round_up_to_granule(wanted.bytes));
    places_[reservations_.back().first].asked += reservations_.back().second;
  }
  for (const ValueRecord& record : state.records()) {
    const std::size_t index = values_.size();
    Value value{.charge = record.spec->storage_bytes,
                .copied = record.spec->logical_bytes,
                .loaded = record.spec->logical_bytes,
                .exclusive = record.spec->replica_mode == residency::ReplicaMode::exclusive,
                .preserve = record.spec->recoverability == residency::Recoverability::must_preserve};
    if (record.source) value.source = place_of(*record.source);
    for (const Materialization& there : record.materializations) {
      const std::size_t place = *place_of(there.at);
      start_ |= bit(index, place);
      if (there.protection.any()) value.guarded |= 1u << place;
      value.copied = there.actual_bytes;
    }
    values_.push_back(value);
  }
  for (const Requirement& wanted : request.require) {
    const std::size_t place = *place_of(wanted.at);
    values_[wanted.value.serial].wanted |= 1u << place;
    endpoints_.push_back({.kind = Move::Kind::place, .value = wanted.value.serial, .at = place});
  }
  for (std::size_t a = 0; a < places_.size(); ++a)
    for (std::size_t b = 0; b < places_.size(); ++b) staged_ = staged_ || needs_staging(a, b);
}

std::optional<std::size_t> Board::place_of(Location at) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].at == at) return i;
  return std::nullopt;
}

bool Board::needs_staging(std::size_t from, std::size_t to) const {
  const Location a = places_[from].at;
  const Location b = places_[to].at;
  return from != to && a.is_cuda() && b.is_cuda() && !copies_.are_peers(a, b);
}

bool Board::fits(Position position, std::size_t place, Bytes bytes) const {
  const Place& here = places_[place];
  if (!here.budget) return true;
  Bytes charged = here.reserved + ((position & kReserved) != 0 ? here.asked : 0);
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((position & bit(i, place)) != 0) charged += values_[i].charge;
  return charged + bytes <= *here.budget;
}

std::size_t Board::source_for(unsigned mask, std::size_t to) const {
  std::optional<std::size_t> best;
  const auto speed = [&](std::size_t from) {
    return memory::known_bandwidth(places_[from].at, places_[to].at).value_or(0);
  };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if ((mask >> i & 1u) == 0) continue;
    if (!best || (copies_.source_order == residency::SourceOrder::fastest && speed(i) > speed(*best)))
      best = i;
  }
  return *best;
}

// A copy from `from`, or a load where there is none.
Board::Result Board::install(Position position, std::size_t value, std::size_t to,
                             std::optional<std::size_t> from, bool leaves) const {
  const Value& what = values_[value];
  const bool loads = !from.has_value();
  if (loads && !what.source) return {};
  const std::size_t read = loads ? *what.source : *from;
  if (!fits(position, to, what.charge)) return {.lacking = to};
  if (loads && read != to && !fits(position, read, what.charge)) return {.lacking = read};
  if (needs_staging(read, to)) {
    const std::optional<std::size_t> staging = place_of(Location::pinned_host());
    if (staging && !fits(position, *staging, what.charge)) return {.lacking = staging};
  }
  Position next = position | bit(value, to);
  if (leaves) next &= ~bit(value, *from);
  return {.next = next, .moved = loads ? what.loaded : what.copied};
}

Board::Result Board::make(Position position, const Move& move) const {
  if (move.kind == Move::Kind::reserve) {
    if ((position & kReserved) != 0) return {};
    // One after the other, as they are admitted: the first that does not fit is where room is lacking.
    std::array<Bytes, kPlaces> sum{};
    for (const auto& [place, bytes] : reservations_)
      if (!fits(position, place, sum[place] += bytes)) return {.lacking = place};
    return {.next = position | kReserved};
  }
  const Value& value = values_[move.value];
  const unsigned there = mask(position, move.value);
  if (move.kind == Move::Kind::place) {
    if ((there >> move.at & 1u) != 0) return {};
    if (there == 0) return install(position, move.value, move.at, std::nullopt, false);
    const std::size_t from = source_for(there, move.at);
    if (value.exclusive && (value.guarded >> from & 1u) != 0) return {};
    return install(position, move.value, move.at, from, value.exclusive);
  }
  if ((there >> move.at & 1u) == 0 || (value.guarded >> move.at & 1u) != 0) return {};
  const bool spare = bits(there) > 1;
  if (move.kind == Move::Kind::drop) {
    if (!spare && value.preserve) return {};
    return {.next = position & ~bit(move.value, move.at)};
  }
  if ((there >> move.to & 1u) != 0) return {.next = position & ~bit(move.value, move.at)};
  return install(position, move.value, move.to, move.at, true);
}

bool Board::served(Position position) const {
  if ((position & kReserved) == 0) return false;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((mask(position, i) & values_[i].wanted) != values_[i].wanted) return false;
  return true;
}

void Board::each(Position position, const std::function<void(Position, Bytes)>& found) const {
  const auto attempt = [&](const Move& move) {
    const Result result = make(position, move);
    if (result.next) found(*result.next, result.moved);
  };
  if ((position & kReserved) == 0) {
    attempt({.kind = Move::Kind::reserve});
  } else {
    for (const Move& endpoint : endpoints_) attempt(endpoint);
  }
  for (std::size_t value = 0; value < values_.size(); ++value) {
    const unsigned there = mask(position, value) & ~values_[value].guarded;
    for (std::size_t at = 0; there >> at != 0; ++at) {
      if ((there >> at & 1u) == 0) continue;
      attempt({.kind = Move::Kind::drop, .value = value, .at = at});
      for (const std::size_t tier : places_[at].tiers)
        attempt({.kind = Move::Kind::offload, .value = value, .at = at, .to = tier});
    }
  }
}

residency::Action Board::action_of(Position position, const Move& move) const {
  const HandleId value{manager_, move.value};
  const Location at = places_[move.at].at;
  switch (move.kind) {
    case Move::Kind::drop:
      return residency::Drop{value, at};
    case Move::Kind::offload:
      return residency::Move{value, places_[move.to].at, at};
    case Move::Kind::reserve:
      break;
    case Move::Kind::place: {
      const unsigned there = mask(position, move.value);
      if (values_[move.value].exclusive && there != 0 && (there >> move.at & 1u) == 0)
        return residency::Move{value, at, std::nullopt};
      return residency::Ensure{value, at, std::nullopt};
    }
  }
  FHERES_CHECK(false);
  return residency::Discard{value};
}

BruteForce brute_force(const Board& board, std::size_t limit) {
  using Entry = std::pair<Bytes, Board::Position>;
  BruteForce result;
  Seen seen;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> costly;
  std::vector<Board::Position> open{board.start()};  // of the bytes that are looked at now
  seen.improve(board.start(), 0);
  Bytes bytes = 0;
  for (;;) {
    while (!open.empty()) {
      const Board::Position position = open.back();
      open.pop_back();
      if (board.served(position)) {
        result.least = bytes;
        result.positions = seen.size();
        return result;
      }
      if (seen.size() > limit) {
        result.gave_up = true;
        result.positions = seen.size();
        return result;
      }
      board.each(position, [&](Board::Position next, Bytes moved) {
        if (!seen.improve(next, bytes + moved)) return;
        if (moved == 0) {
          open.push_back(next);
        } else {
          costly.emplace(bytes + moved, next);
        }
      });
    }
    while (!costly.empty() && seen.at(costly.top().second) < costly.top().first) costly.pop();
    if (costly.empty()) {
      result.positions = seen.size();
      return result;
    }
    bytes = costly.top().first;
    open.push_back(costly.top().second);
    costly.pop();
  }
}

}  // namespace fheres::control::testing
