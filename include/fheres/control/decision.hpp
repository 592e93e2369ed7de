#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/residency/action.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::control {

using memory::Location;

/// One materialization that has to leave. Its action stands in the plan's reclaim, or in enter where it can
/// only happen after a placement.
struct Eviction {
  enum class Why {
    spare,            // other replicas stay
    reconstructible,  // the last replica; its source brings it back
    offloaded,        // the last replica, moved to a fallback tier
  };
  residency::Action action{};
  std::size_t rank = 0;  // 0 left first
  Location released = Location::pageable_host();
  Bytes bytes = 0;
  Why why = Why::spare;
  std::shared_ptr<const residency::ValueSpec> spec{};
  std::vector<Location> remains{};   // where the value is right after the action, in location order
  std::optional<Location> source{};  // of a reconstructible value
  std::int64_t priority = 0;         // what the policy knew
  std::uint64_t access_epoch = 0;
  bool requested_elsewhere = false;  // the request needs the value at other locations
  bool restored = false;             // the request needs it here, and brings it back later

  /// For people, for example `cold: replica at cuda:0 dropped, a copy stays at pageable-host; 1 MiB released;
  /// priority 0, never accessed`.
  std::string reason() const;
};

/// How to serve a request, and why so (R56). Storage-free; bound to one manager at one version.
struct Decision {
  std::string request{};
  residency::Plan plan{};  // reclaim, reservations and enter; never exit: endpoints stay cached
  std::vector<Eviction> evictions{};
  std::string policy{};  // Policy::identity
  residency::Explanation explanation{};
  std::uint64_t explored_states = 0;
  std::uint64_t expected_version = 0;
  residency::ManagerId manager{};
  std::uint64_t controller = 0;  // 0: decided without one
  Bytes bytes_moved = 0;         // copied or loaded by the plan
  bool least_bytes = false;      // proven: no plan that serves the request moves fewer bytes
};

/// One line of what cannot hold together.
struct Conflict {
  enum class Kind {
    requirement,  // of the request
    reservation,  // of the request
    reserved,     // held by others: an existing reservation
    in_use,       // a resident that is protected by leases, holds or readers
    only_copy,    // a resident that must be preserved and has nowhere else to go
    staged,       // a value on its way between devices: its staging, at pinned-host until it has arrived
  };
  Kind kind = Kind::requirement;
  std::string name{};  // of the value, or the reservation's label
  std::optional<residency::HandleId> value{};
  std::optional<residency::ReservationId> reservation{};
  Location at = Location::pageable_host();
  Bytes bytes = 0;
  residency::Protection counts{};  // in_use

  /// `rot1: 18 MiB, required at cuda:0`.
  std::string text() const;
};

/// No plan serves the request: proven, by a sum or by exhaustion (R60).
struct Infeasible {
  std::string request{};
  std::string reason{};                     // one line, with the numbers
  Location at = Location::pageable_host();  // where room is missing
  std::optional<Bytes> budget{};
  /// By how much a sum exceeds the budget; absent where exhaustion proves it and no sum does.
  std::optional<Bytes> short_by{};
  /// Cannot hold together; without any single one of them the others can. Order: as the request has them,
  /// then residents by serial.
  std::vector<Conflict> conflict{};
  /// False only when the search limit ended the shrinking of `conflict` early.
  bool irreducible = true;
  /// Everything at `at` that no plan can move away: protected, only copies, reservations of others.
  std::vector<Conflict> holders{};
  std::uint64_t explored_states = 0;
};

/// The bound was reached before an answer was (R60).
struct Inconclusive {
  std::string request{};
  std::uint64_t limit = 0;
  std::uint64_t explored_states = 0;
  std::string detail{};
};

using Outcome = std::variant<Decision, Infeasible, Inconclusive>;

/// The decision, or the exception that stands for the other two: PlanError (residency/plan) with the reason,
/// SearchLimitError (residency/search-limit).
Decision decision_or_throw(Outcome outcome);

}  // namespace fheres::control
