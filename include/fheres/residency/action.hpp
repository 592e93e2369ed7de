#pragma once

#include <optional>
#include <string>
#include <variant>

#include <fheres/memory/location.hpp>
#include <fheres/residency/handle.hpp>

namespace fheres::residency {

using memory::Location;

/// One value at one location.
struct ValuePlace {
  HandleId value{};
  Location at = Location::pageable_host();
  friend bool operator==(const ValuePlace&, const ValuePlace&) = default;
};

/// Keep what is there and have a replica at `at` (R9).
struct Ensure {
  HandleId value{};
  Location at = Location::pageable_host();
  std::optional<Location> from{};  // omitted: chosen in location order (R13)
  /// Returns while the copy still runs: the replica is there as *arriving* (R21). Both ends are then pinned or cuda.
  bool asynchronous = false;
  friend bool operator==(const Ensure&, const Ensure&) = default;
};
/// Install at `to`, then remove the selected source (R10).
struct Move {
  HandleId value{};
  Location to = Location::pageable_host();
  std::optional<Location> from{};
  friend bool operator==(const Move&, const Move&) = default;
};
/// Remove one materialization (R11).
struct Drop {
  HandleId value{};
  Location at = Location::pageable_host();
  friend bool operator==(const Drop&, const Drop&) = default;
};
/// End the value: all materializations and its source go (R12).
struct Discard {
  HandleId value{};
  friend bool operator==(const Discard&, const Discard&) = default;
};

using Action = std::variant<Ensure, Move, Drop, Discard>;

HandleId value_of(const Action& action);
/// `ensure`, `move`, `drop`, `discard`.
const char* verb_of(const Action& action);
/// Where the action installs (ensure, move), or removes (drop). Nothing for discard.
std::optional<Location> location_of(const Action& action);

}  // namespace fheres::residency
