#pragma once

#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/residency/action.hpp>

namespace fheres::residency {

/// Named headroom at a location (R36): charged as reserved while its scope or token lives, rounded up to
/// granules.
struct ReservationSpec {
  Location at = Location::pageable_host();
  Bytes bytes = 0;
  std::string label{};
  friend bool operator==(const ReservationSpec&, const ReservationSpec&) = default;
};

/// A value that the body makes: announced before, and adopted out of the plan's reservation of that index. So a plan
/// can say what becomes of a result before there is one.
struct Production {
  HandleId value;
  Location at = Location::pageable_host();
  std::size_t reservation = 0;
  friend bool operator==(const Production&, const Production&) = default;
};

/// A block that the body carves out of the plan's reservation of that index when it starts, and frees when it ends.
struct Workspace {
  std::size_t reservation = 0;
  Bytes bytes = 0;
  friend bool operator==(const Workspace&, const Workspace&) = default;
};

/// One stage bound to handles (R39). Order at run time: reclaim, admit reservations, enter, prefetch, body, adopt what it
/// produces, wait for consumers, settle what the body has read, exit, release reservations. Before an action removes an
/// end of an arrival, that arrival is settled too (R23). Plain data; Manager copies it, so a later change of the original has no effect.
struct Plan {
  std::string name;  // not empty
  std::vector<Action> reclaim;
  std::vector<ReservationSpec> reservations;
  std::vector<Action> enter;
  /// Asynchronous ensures only, for this stage's body or a later stage (R21): else std::invalid_argument.
  std::vector<Action> prefetch{};
  std::vector<Production> produce{};
  std::vector<Action> exit{};
  /// What explain assumes of the body's blocks (R27): these in order, then one for each value that it produces, of
  /// its logical bytes; all before the body protects anything, and, where there is a workspace, after Manager::gather of
  /// them together. What a body carves beyond that is not predicted.
  std::vector<Workspace> workspace{};
  /// What the body reads, and where. What arrives there is settled when the body is over (R23): the body has waited for
  /// it, so from then on it is a copy like any other, that exit may remove and a compaction may slide.
  std::vector<ValuePlace> reads{};
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The part of a plan that an action or reservation stands in, or `execute` for a raw sequence (R42, R45).
enum class Phase { execute, reclaim, reserve, enter, prefetch, exit };
const char* name(Phase phase);

}  // namespace fheres::residency
