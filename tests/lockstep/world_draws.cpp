#include <algorithm>

#include <fmt/format.h>

#include "lockstep/world.hpp"

namespace fheres::lockstep {
namespace {

template <class T>
const T& pick(test::Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

}  // namespace

Location World::draw_location(Random& random) const {
  if (random.chance(60)) return Location::cuda(devices_);  // R3: not there
  if (crowd_ && !random.chance(4)) return *crowd_;
  return pick(random, places_);
}

/// Where a value is adopted: not in a crowd, whose own region is to have its blocks.
Location World::draw_home(Random& random) const {
  return crowd_ && !random.chance(6) ? Location::pageable_host() : pick(random, places_);
}

std::optional<std::uint64_t> World::draw_serial(Random& random) const {
  std::vector<std::uint64_t> live;
  for (std::uint64_t serial = 0; serial < rules_->values().size(); ++serial) {
    if (!rules_->values()[serial].discarded) live.push_back(serial);
  }
  if (live.empty()) return std::nullopt;
  return pick(random, live);
}

std::optional<std::uint64_t> World::draw_announced(Random& random) const {
  std::vector<std::uint64_t> announced;
  for (std::uint64_t serial = 0; serial < rules_->values().size(); ++serial) {
    const RuleValue& value = rules_->values()[serial];
    if (value.announced && !value.discarded) announced.push_back(serial);
  }
  if (announced.empty()) return std::nullopt;
  return pick(random, announced);
}

residency::HandleId World::draw_handle(Random& random) const {
  const residency::ManagerId manager = manager_->manager_id();
  const std::optional<std::uint64_t> live = draw_serial(random);
  if (!live || random.chance(50)) {  // R6: foreign, unknown or, perhaps, discarded
    if (random.chance(3)) return {residency::ManagerId{manager.value + 1'000'000}, random.below(4)};
    return {manager, random.below(rules_->values().size() + 3)};
  }
  return {manager, *live};
}

/// For a crowd: what to take out of it, so that holes come about, or what fits by its bytes; rather in no piece.
std::optional<std::uint64_t> World::draw_traffic(Random& random, Kind kind) const {
  std::vector<std::uint64_t> there, fitting, in_pieces;
  for (std::uint64_t serial = 0; serial < rules_->values().size(); ++serial) {
    const RuleValue& value = rules_->values()[serial];
    if (value.discarded || value.announced) continue;
    if (value.copies.count(*crowd_) != 0) {
      there.push_back(serial);
    } else if (rules_->admits(*crowd_, value.spec.storage_bytes)) {
      fitting.push_back(serial);
      if (value.spec.logical_bytes > rules_->largest_free(*crowd_)) in_pieces.push_back(serial);
    }
  }
  // Between two others, so that its room joins no other.
  const auto offset = [&](std::uint64_t serial) {
    return rules_->values()[serial].copies.at(*crowd_).offset.value_or(0);
  };
  std::sort(there.begin(), there.end(), [&](auto a, auto b) { return offset(a) < offset(b); });
  if (there.size() > 1) there.pop_back();
  const auto& found = kind == Kind::drop ? there : in_pieces.empty() ? fitting : in_pieces;
  if (found.empty()) return std::nullopt;
  return pick(random, found);
}

Action World::draw_action(Random& random, Kind kind) const {
  residency::HandleId value = draw_handle(random);
  const bool installs = kind == Kind::ensure || kind == Kind::prefetch || kind == Kind::move;
  if (const std::optional<std::uint64_t> backed = draw_backed(random); installs && backed && random.chance(3))
    value = {rules_manager_, *backed};
  std::optional<Location> from;
  if (random.chance(4)) from = pick(random, places_);
  if (crowd_ && (kind == Kind::ensure || kind == Kind::drop) && !random.chance(4)) {
    if (const std::optional<std::uint64_t> drawn = draw_traffic(random, kind)) {
      value = {rules_manager_, *drawn};
      if (kind == Kind::drop) return residency::Drop{value, *crowd_};
      return residency::Ensure{value, *crowd_, {}};
    }
  }
  switch (kind) {
    case Kind::ensure:
      return residency::Ensure{value, draw_location(random), random.chance(2) ? from : std::nullopt};
    case Kind::prefetch: {
      const Location at =
          random.chance(12) ? draw_location(random) : places_[1 + random.below(places_.size() - 1)];
      from.reset();
      if (random.chance(4)) from = places_[1 + random.below(places_.size() - 1)];
      if (!random.chance(3) && value.manager == rules_manager_ && rules_->handle_is_good(value.serial)) {
        for (const auto& [there, copy] : rules_->values()[value.serial].copies) {
          if (there != Location::pageable_host() && there != at) from = there;
        }
      }
      return residency::Ensure{value, at, from, true};
    }
    case Kind::move:
      return residency::Move{value, draw_location(random), from};
    case Kind::drop:
      return residency::Drop{value, draw_location(random)};
    default:
      return residency::Discard{value};
  }
}

Action World::draw_action(Random& random) const {
  const std::uint64_t draw = random.below(20);
  if (draw == 0) return draw_action(random, Kind::prefetch);
  if (draw < 9) return draw_action(random, Kind::ensure);
  if (draw < 14) return draw_action(random, Kind::move);
  if (draw < 19) return draw_action(random, Kind::drop);
  return draw_action(random, Kind::discard);
}

std::vector<Action> World::draw_actions(Random& random, std::size_t most, Rules& state, bool sensible,
                                        std::optional<Kind> only) const {
  std::vector<Action> actions;
  const std::size_t count = random.below(most + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const Action action = only ? draw_action(random, *only) : draw_action(random);
    for (const std::uint64_t arrival : state.arrivals_in_the_way(action)) state.settle(arrival);
    const Expectation expected = state.judge(action);
    if (!expected.allowed() || !expected.has_piece) {
      if (!sensible) actions.push_back(action);
      continue;
    }
    state.carry_out(action, expected, expected.block);
    actions.push_back(action);
  }
  return actions;
}

Plan World::draw_plan(Random& random) const {
  const bool sensible = !random.chance(4);
  Rules state = *rules_;
  Plan plan;
  plan.name = fmt::format("plan-{}", random.below(1000));
  plan.reclaim = draw_actions(random, 2, state, sensible);
  for (std::uint64_t i = random.below(3); i > 0; --i) {
    residency::ReservationSpec spec{pick(random, places_), random.below(3) * 256, fmt::format("room-{}", i)};
    if (random.chance(3)) spec.bytes += random.below(600);
    if (sensible && !state.admits(spec.at, round_up_to_granule(spec.bytes))) continue;
    state.reserve((std::uint64_t{1} << 41) + i, spec.at, spec.bytes, spec.label);
    plan.reservations.push_back(spec);
  }
  plan.enter = draw_actions(random, 3, state, sensible);
  if (const std::optional<std::uint64_t> announced = draw_announced(random);
      announced && rules_->values()[*announced].spec.logical_bytes != 0 && !plan.reservations.empty() &&
      random.chance(2)) {
    const std::size_t which = random.below(plan.reservations.size());
    const residency::Production production{{rules_manager_, *announced}, plan.reservations[which].at, which};
    // Keys of the same order as the loop above gave, for those that were kept.
    std::vector<std::uint64_t> keys;
    for (const auto& [key, reservation] : state.reservations()) {
      if (key >= (std::uint64_t{1} << 41)) keys.insert(keys.begin(), key);
    }
    if (!sensible || state.can_produce(production, keys[which])) plan.produce.push_back(production);
  }
  plan.prefetch = draw_actions(random, 2, state, sensible, Kind::prefetch);
  for (const auto& [key, arrival] : std::map(state.arrivals())) {
    if (!random.chance(2)) continue;
    plan.reads.push_back({{rules_manager_, arrival.serial}, arrival.at});
    state.settle(key);
  }
  if (random.chance(4)) plan.reads.push_back({draw_handle(random), draw_location(random)});
  plan.exit = draw_actions(random, 2, state, sensible);
  return plan;
}

ValueSpec World::draw_spec(Random& random) const {
  ValueSpec spec;
  spec.name = fmt::format("v{}", rules_->values().size());
  spec.type = "bytes";
  spec.storage_bytes = uniform_ ? 512 : kGranule * (1 + random.below(4));
  spec.logical_bytes = spec.storage_bytes - random.below(uniform_ || crowd_ ? 256 : spec.storage_bytes + 1);
  if (random.chance(crowd_ ? 12 : 3)) spec.replica_mode = residency::ReplicaMode::exclusive;
  return spec;
}

std::optional<std::size_t> World::draw_stream(Random& random, Location device) const {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].device == device) fitting.push_back(i);
  }
  if (fitting.empty()) return std::nullopt;
  return pick(random, fitting);
}

residency::TransferStreams World::draw_streams(Random& random, bool& wrong) const {
  residency::TransferStreams streams;
  wrong = false;
  if (!random.chance(3)) return streams;
  const Location device =
      Location::cuda(static_cast<int>(random.below(static_cast<std::uint64_t>(devices_))));
  Location its = device;
  if (random.chance(8)) {
    its = Location::cuda((device.device() + 1) % devices_);
    wrong = true;
  }
  streams[device] = streams_[*draw_stream(random, its)].stream;
  return streams;
}

/// A place where something is, where there is anything.
Location World::draw_resident_place(Random& random) const {
  std::vector<Location> found;
  for (const RuleValue& value : rules_->values()) {
    for (const auto& [at, copy] : value.copies) found.push_back(at);
  }
  if (found.empty() || random.chance(30)) return draw_location(random);
  return pick(random, found);
}

}  // namespace fheres::lockstep
