#include "verify/judge.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fheres::verify {
namespace {

using Kind = Deed::Kind;
using By = Effect::By;

/// R13: in location order, the destination left out.
std::optional<Location> source_for(const Holding& holding, Location to) {
  for (const Copy& copy : holding.copies)
    if (copy.at != to) return copy.at;
  return std::nullopt;
}

class Judge {
 public:
  Judge(const Deed& deed, const Holdings& holdings, const workload::World& world)
      : deed_(deed), holdings_(holdings), world_(world), holding_(holdings[deed.value]) {}

  std::variant<Effect, No> run() {
    if (holding_.is_released) return No{6, fmt::format("{} was released before", name(deed_.value))};
    if (deed_.kind == Kind::drop) return drop();
    if (deed_.from && !holdings_.is_at(deed_.value, *deed_.from)) {
      return No{13, fmt::format("{} is not at {}, it is {}", name(deed_.value), deed_.from->name(),
                                places(holding_))};
    }
    if (holdings_.is_at(deed_.value, deed_.at)) return already_there();
    if (deed_.kind != Kind::move && is_exclusive() && !holding_.copies.empty()) {
      return No{9, fmt::format("{} is exclusive and {}: only a move brings it to {}", name(deed_.value),
                               places(holding_), deed_.at.name())};
    }
    return bring();
  }

 private:
  std::string name(ValueIndex value) const { return world_.values[value].name.text; }
  bool is_exclusive() const {
    return world_.values[deed_.value].spec.replica_mode == residency::ReplicaMode::exclusive;
  }

  std::variant<Effect, No> drop() {  // R11
    Effect effect;
    if (!holdings_.is_at(deed_.value, deed_.at)) return effect;
    if (holding_.copies.size() == 1 && holdings_.must_stay(deed_.value)) {
      const workload::Value& value = world_.values[deed_.value];
      const std::string only =
          fmt::format("the only copy of {} is at {}", name(deed_.value), deed_.at.name());
      if (!value.backing && !value.source) return No{11, only + ", and nothing makes it again"};
      if (!holding_.backs.empty())
        return No{66, fmt::format("{}, and {} is expanded from it", only, name(holding_.backs.front()))};
      return No{66, fmt::format("{}, and {}, from which it was expanded, was released", only,
                                name(*value.backing))};
    }
    effect.removes = true;
    effect.removed = deed_.at;
    return effect;
  }

  std::variant<Effect, No> already_there() {  // R9, R10
    Effect effect;
    const auto gone = taken_from(deed_, holdings_);
    effect.removes = gone.has_value();
    if (gone) effect.removed = *gone;
    return effect;
  }

  std::variant<Effect, No> bring() {
    const workload::Value& value = world_.values[deed_.value];
    Effect effect;
    effect.reads = deed_.value;
    effect.charge = value.spec.storage_bytes;  // R7
    effect.arrives = deed_.kind == Kind::prefetch;
    const auto source = deed_.from ? deed_.from : source_for(holding_, deed_.at);
    Bytes sent = effect.charge;
    if (source) {
      effect.by = By::copy;
      effect.source = *source;
      effect.moved = value.spec.logical_bytes;
      effect.removes = deed_.kind == Kind::move;
      effect.removed = *source;
    } else if (!holding_.is_made) {
      return No{39, fmt::format("{} is not made yet", name(deed_.value))};
    } else if (value.backing) {  // R66
      const workload::Value& backing = world_.values[*value.backing];
      const bool is_there = holdings_.is_at(*value.backing, deed_.at);
      const auto read = is_there ? deed_.at : source_for(holdings_[*value.backing], deed_.at);
      if (!read) {
        return No{66, fmt::format("{} is nowhere, and neither is {}, from which it is expanded",
                                  name(deed_.value), backing.name.text)};
      }
      effect.by = By::expansion;
      effect.reads = *value.backing;
      effect.source = *read;
      effect.moved = is_there ? 0 : backing.spec.logical_bytes;
      sent = backing.spec.storage_bytes;
      effect.temporary = is_there ? 0 : sent;
      effect.temporary_at = deed_.at;
    } else if (value.source) {  // R5, R16
      effect.by = By::load;
      effect.source = *value.source;
      effect.moved = value.spec.logical_bytes;
      effect.temporary = effect.source == deed_.at ? 0 : effect.charge;
      effect.temporary_at = effect.source;
    } else {
      return No{13, fmt::format("{} is nowhere, and nothing makes it again", name(deed_.value))};
    }
    if (effect.source.is_cuda() && deed_.at.is_cuda() && effect.source != deed_.at &&
        !are_peers(effect.source))
      effect.staging = sent;
    if (effect.arrives) {
      if (const auto no = late(effect)) return *no;
    }
    return effect;
  }

  bool are_peers(Location source) const {  // R64
    return std::any_of(world_.peers.begin(), world_.peers.end(), [&](const auto& pair) {
      return (pair.first == source && pair.second == deed_.at) ||
             (pair.first == deed_.at && pair.second == source);
    });
  }

  std::optional<No> late(const Effect& effect) const {  // R21
    if (effect.by == By::load)
      return No{21, fmt::format("{} has to be made first, at {}, and that blocks the host", name(deed_.value),
                                effect.source.name())};
    if (effect.source == Location::pageable_host() || deed_.at == Location::pageable_host())
      return No{21, fmt::format("{} goes from {} to {}, and a copy with a pageable end blocks the host",
                                name(deed_.value), effect.source.name(), deed_.at.name())};
    if (effect.by == By::expansion && deed_.at.is_host())
      return No{21, fmt::format("{} is expanded at {}, and the host would do that itself", name(deed_.value),
                                deed_.at.name())};
    return std::nullopt;
  }

  const Deed& deed_;
  const Holdings& holdings_;
  const workload::World& world_;
  const Holding& holding_;
};

}  // namespace

std::string text(const Deed& deed, const workload::World& world) {
  const std::string& value = world.values[deed.value].name.text;
  const std::string from = deed.from ? " from " + deed.from->name() : "";
  if (deed.kind == Kind::move) return fmt::format("move {} to {}{}", value, deed.at.name(), from);
  if (deed.kind == Kind::drop) return fmt::format("drop {} at {}", value, deed.at.name());
  return fmt::format("ensure {} at {}{}", value, deed.at.name(), from);
}

std::optional<Location> taken_from(const Deed& deed, const Holdings& holdings) {
  const Holding& holding = holdings[deed.value];
  if (deed.kind == Kind::drop) return holding.find(deed.at) ? std::optional(deed.at) : std::nullopt;
  if (deed.kind != Kind::move) return std::nullopt;
  if (deed.from == deed.at) return std::nullopt;
  if (deed.from) return holding.find(*deed.from) ? deed.from : std::nullopt;
  return source_for(holding, deed.at);
}

std::variant<Effect, No> judge(const Deed& deed, const Holdings& holdings, const workload::World& world) {
  return Judge(deed, holdings, world).run();
}

std::optional<No> judge_release(ValueIndex value, const Holdings& holdings, const workload::World& world) {
  const Holding& holding = holdings[value];
  const std::string& name = world.values[value].name.text;
  if (holding.is_released) return No{6, fmt::format("{} was released before", name)};
  for (const ValueIndex dependent : holding.backs) {
    if (!holdings[dependent].copies.empty()) continue;
    return No{66,
              fmt::format("{} is nowhere, and only {} brings it", world.values[dependent].name.text, name)};
  }
  for (const Copy& copy : holding.copies) {
    if (copy.is_protected()) return No{12, fmt::format("{} at {} is in use", name, copy.at.name())};
  }
  return std::nullopt;
}

}  // namespace fheres::verify
