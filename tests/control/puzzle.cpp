#include "puzzle.hpp"

#include <algorithm>

#include "support/random.hpp"

namespace fheres::control::testing {
namespace {

using residency::Materialization;
using residency::Recoverability;
using residency::ReplicaMode;

class Maker {
 public:
  Maker(std::uint64_t seed, std::size_t max_values) : dice_(seed), count_(1 + dice_.below(max_values)) {}

  // With `charged` by a first, unbudgeted making, most budgets are just above it.
  Puzzle make(const std::map<Location, Bytes>* charged) {
    Puzzle puzzle{make_world(charged), {"r", {}, {}}};
    World& world = puzzle.world;
    std::vector<HandleId> values;
    const Bytes usual = kGranule * (1 + dice_.below(4));
    for (std::size_t i = 0; i < count_; ++i) {
      const Bytes bytes = dice_.chance(2) ? usual : kGranule * (1 + dice_.below(8));
      if (const auto value = make_value(world, numbered("v", i), bytes)) values.push_back(*value);
    }
    if (dice_.chance(4)) world.state.reserve({pick(places_), kGranule * dice_.below(3), "others"});
    if (values.empty()) values.push_back(world.put_source("spare", kGranule, pick(places_)));
    ask(puzzle, values);
    return puzzle;
  }

 private:
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[dice_.below(from.size())];
  }

  World make_world(const std::map<Location, Bytes>* charged) {
    const bool two_devices = dice_.chance(2);
    places_ = {pinned, cuda0, two_devices ? cuda1 : pageable};
    std::map<Location, Bytes> budgets;
    const bool tight = !dice_.chance(4);
    for (const Location at : places_) {
      const bool budgeted = at == pageable ? dice_.chance(2) : !dice_.chance(6);
      const Bytes room = kGranule * dice_.below(tight ? 3 : 12);
      if (!budgeted || charged == nullptr) continue;
      const auto filled = charged->find(at);
      budgets[at] = room + (tight && filled != charged->end() ? filled->second : 2 * kGranule);
    }
    DeterministicTieredLRU::Tiers tiers;
    for (const Location from : places_) {
      std::vector<Location> others;
      for (const Location to : places_)
        if (to != from && dice_.chance(2)) others.push_back(to);
      if (dice_.chance(8)) others.push_back(Location::cuda(5));  // not there
      if (dice_.chance(2)) std::reverse(others.begin(), others.end());
      if (!others.empty()) tiers[from] = others;
    }
    residency::CopyRules copies;
    if (two_devices && dice_.chance(2)) copies.peers = {{cuda0, cuda1}};
    if (dice_.chance(3)) copies.source_order = residency::SourceOrder::fastest;
    return World(budgets, tiers, 2, copies);
  }

  std::optional<HandleId> make_value(World& world, const std::string& name, Bytes bytes) {
    const Location start = pick(places_);
    residency::ValueSpec spec =
        World::spec(name, bytes, ReplicaMode::replicable, Recoverability::must_preserve);
    if (dice_.chance(3)) spec.replica_mode = ReplicaMode::exclusive;
    if (dice_.chance(3)) spec.logical_bytes -= dice_.below(kGranule);
    std::optional<HandleId> value;
    if (dice_.chance(20)) return world.state.announce(spec);
    if (dice_.chance(3)) {
      spec.recoverability = Recoverability::reconstructible;
      value = world.state.register_source(spec, start);
    } else {
      const Bytes actual = spec.logical_bytes + dice_.below(spec.storage_bytes - spec.logical_bytes + 1);
      const auto made = world.state.adopt(spec, start, actual);
      if (const HandleId* adopted = std::get_if<HandleId>(&made)) value = *adopted;
    }
    if (!value) return std::nullopt;
    for (const Location at : places_)
      if (dice_.chance(2)) world.state.apply(residency::Ensure{*value, at, {}, dice_.chance(6)});
    if (dice_.chance(30) && !arrives(world, *value)) {
      world.state.apply(residency::Discard{*value});
      return std::nullopt;
    }
    std::vector<Location> there;
    for (const Materialization& m : world.state.record(*value).materializations) there.push_back(m.at);
    for (const Location at : there)
      if (dice_.chance(6)) world.state.protect(*value, at, static_cast<State::Token>(dice_.below(3)));
    if (dice_.chance(3)) {
      const auto priority = static_cast<std::int64_t>(dice_.below(3));
      std::optional<std::string> key;
      if (dice_.chance(3)) key = numbered("key", dice_.below(9) * 10 + value->serial);
      world.metadata.set(*value, priority, key);
    }
    if (dice_.chance(3)) world.metadata.touch(std::vector{*value});
    return value;
  }

  static bool arrives(const World& world, HandleId value) {
    const auto& places = world.state.record(value).materializations;
    return std::any_of(places.begin(), places.end(), [](const auto& m) { return m.arrival.has_value(); });
  }

  void ask(Puzzle& puzzle, const std::vector<HandleId>& values) {
    const std::size_t wanted = 1 + dice_.below(count_ > 4 ? 5 : 3);
    for (std::size_t i = 0; i < wanted; ++i) {
      Requirement next{pick(values), pick(places_)};
      // Rather one that is not there yet.
      for (int again = 0; again < 3 && puzzle.world.state.record(next.value).at(next.at) != nullptr; ++again)
        next = {pick(values), pick(places_)};
      const auto& spec = *puzzle.world.state.record(next.value).spec;
      const bool exclusive = spec.replica_mode == ReplicaMode::exclusive;
      const bool clash = std::any_of(
          puzzle.request.require.begin(), puzzle.request.require.end(),
          [&](const Requirement& r) { return r == next || (exclusive && r.value == next.value); });
      if (!clash) puzzle.request.require.push_back(next);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (!dice_.chance(3)) continue;
      puzzle.request.reserve.push_back(
          {pick(places_), kGranule * dice_.below(4), numbered("reservation ", i)});
    }
  }

  test::Random dice_;
  std::size_t count_;
  std::vector<Location> places_;
};

}  // namespace

Puzzle random_puzzle(std::uint64_t seed, std::size_t max_values) {
  const Puzzle roomy = Maker(seed, max_values).make(nullptr);
  std::map<Location, Bytes> charged;
  for (const residency::Account& account : roomy.world.state.accounts())
    charged[account.at] = account.used + account.reserved;
  return Maker(seed, max_values).make(&charged);
}

Puzzle restricted(const Puzzle& puzzle, const std::vector<Conflict>& lines) {
  Puzzle result{puzzle.world, {"r", {}, {}}};
  State& state = result.world.state;
  const auto requested = [&](HandleId value) {
    return std::any_of(puzzle.request.require.begin(), puzzle.request.require.end(),
                       [&](const Requirement& r) { return r.value == value; });
  };
  const auto has = [&](HandleId value, const auto& line_does) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const Conflict& line) { return line.value == value && line_does(line); });
  };
  for (std::uint64_t serial = 0; serial < state.records().size(); ++serial) {
    const HandleId value = state.handle(serial);
    if (state.records()[serial].discarded) continue;
    const auto places = state.records()[serial].materializations;
    // Staging is charged where a line says so; the ends are protected where other lines do.
    for (const Materialization& there : places) {
      if (!there.arrival || has(value, [](const auto& line) { return line.kind == Conflict::Kind::staged; }))
        continue;
      state.settle(value, there.at);
      for (const Location end : {there.at, there.arrival->from})
        state.protect(value, end, State::Token::pending);
    }
    for (const Materialization& there : places) {
      const bool guarded = has(value, [&](const Conflict& line) {
        return line.kind != Conflict::Kind::requirement && line.kind != Conflict::Kind::staged &&
               (line.at == there.at || !requested(value));
      });
      if (guarded) continue;
      for (std::uint32_t i = 0; i < there.protection.use; ++i)
        state.unprotect(value, there.at, State::Token::use);
      for (std::uint32_t i = 0; i < there.protection.hold; ++i)
        state.unprotect(value, there.at, State::Token::hold);
      for (std::uint32_t i = 0; i < there.protection.pending; ++i)
        state.unprotect(value, there.at, State::Token::pending);
    }
    if (!has(value, [](const Conflict&) { return true; })) state.apply(residency::Discard{value});
  }
  for (const auto& record : puzzle.world.state.reservations()) {
    const bool named = std::any_of(lines.begin(), lines.end(),
                                   [&](const Conflict& c) { return c.reservation == record.id; });
    if (!named) state.release(record.id);
  }
  for (const Conflict& line : lines) {
    if (line.kind == Conflict::Kind::requirement) result.request.require.push_back({*line.value, line.at});
    if (line.kind != Conflict::Kind::reservation) continue;
    for (const auto& reservation : puzzle.request.reserve)
      if (reservation.label == line.name) result.request.reserve.push_back(reservation);
  }
  return result;
}

}  // namespace fheres::control::testing
