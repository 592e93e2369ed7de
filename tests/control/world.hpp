#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/base/check.hpp>
#include <fheres/control/search.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control::testing {

using memory::Location;
using residency::HandleId;
using residency::State;

inline const Location pageable = Location::pageable_host();
inline const Location pinned = Location::pinned_host();
inline const Location cuda0 = Location::cuda(0);
inline const Location cuda1 = Location::cuda(1);

/// A small state to decide on, and everything that decide needs with it.
struct World {
  explicit World(std::map<Location, Bytes> budgets, DeterministicTieredLRU::Tiers tiers = {},
                 std::optional<int> devices = {}, residency::CopyRules copies = {})
      : state(residency::ManagerId{7}, budgets, devices, std::move(copies)), policy(std::move(tiers)) {}

  State state;
  DeterministicTieredLRU policy;
  ValueMetadata metadata;
  DecideOptions options;

  /// A must-preserve value with replicas at all of these.
  HandleId put(const std::string& name, Bytes bytes, std::initializer_list<Location> at,
               residency::ReplicaMode mode = residency::ReplicaMode::replicable) {
    const auto made =
        state.adopt(spec(name, bytes, mode, residency::Recoverability::must_preserve), *at.begin(), bytes);
    FHERES_CHECK(std::holds_alternative<HandleId>(made));
    const HandleId value = std::get<HandleId>(made);
    for (const Location where : at) apply(residency::Ensure{value, where, {}});
    return value;
  }
  HandleId put_exclusive(const std::string& name, Bytes bytes, Location at) {
    return put(name, bytes, {at}, residency::ReplicaMode::exclusive);
  }
  /// A value that `source` can bring back, loaded at these.
  HandleId put_source(const std::string& name, Bytes bytes, Location source,
                      std::initializer_list<Location> at = {}) {
    const HandleId value = state.register_source(
        spec(name, bytes, residency::ReplicaMode::replicable, residency::Recoverability::reconstructible),
        source);
    for (const Location where : at) apply(residency::Ensure{value, where, {}});
    return value;
  }
  void apply(const residency::Action& action) {
    const auto done = state.apply(action);
    FHERES_CHECK(std::holds_alternative<residency::Transition>(done));
  }
  void hold(HandleId value, Location at) { state.protect(value, at, State::Token::hold); }
  void reserve(Location at, Bytes bytes, const std::string& label) {
    FHERES_CHECK(std::holds_alternative<residency::ReservationId>(state.reserve({at, bytes, label})));
  }

  Outcome decide(const Request& request) const {
    return control::decide(state, request, policy, metadata, options);
  }
  Decision decision(const Request& request) const { return decision_or_throw(decide(request)); }
  Infeasible infeasible(const Request& request) const {
    const Outcome outcome = decide(request);
    FHERES_CHECK(std::holds_alternative<Infeasible>(outcome));
    return std::get<Infeasible>(outcome);
  }

  static residency::ValueSpec spec(const std::string& name, Bytes bytes, residency::ReplicaMode mode,
                                   residency::Recoverability recoverability) {
    residency::ValueSpec made;
    made.name = name;
    made.type = "bytes";
    made.logical_bytes = made.storage_bytes = bytes;
    made.replica_mode = mode;
    made.recoverability = recoverability;
    return made;
  }
};

inline std::string numbered(std::string name, std::size_t number) {
  return name.append(std::to_string(number));
}

/// `cold at cuda:0, w at pinned-host`, in the order in which they leave.
inline std::string victims(const Decision& decision) {
  std::string text;
  for (const Eviction& eviction : decision.evictions) {
    text += (text.empty() ? "" : ", ") + eviction.spec->name + " at " + eviction.released.name();
  }
  return text;
}

/// `a b`, in the answer's order.
inline std::string names(const std::vector<Conflict>& conflict) {
  std::string text;
  for (const Conflict& line : conflict) text += (text.empty() ? "" : " ") + line.name;
  return text;
}

}  // namespace fheres::control::testing
