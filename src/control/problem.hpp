#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/control/metadata.hpp>
#include <fheres/control/policy.hpp>
#include <fheres/control/request.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::control {

/// One request against one state, with what every step of deciding looks up. References must outlive it.
class Problem {
 public:
  Problem(const residency::State& state, const Request& request, const Policy& policy,
          const ValueMetadata& metadata);

  const residency::State& state;
  const Request& request;
  const Policy& policy;
  const ValueMetadata& metadata;

  /// The request needs the value somewhere.
  bool requested(HandleId value) const { return requested_[value.serial] != 0; }
  /// The request needs the value here.
  bool required(HandleId value, Location at) const;
  /// How many locations the request needs it at.
  std::size_t times_required(HandleId value) const;

  /// The policy's tiers, checked once (R53).
  std::span<const Location> tiers(Location from) const;

  /// Whether some copy between locations that this problem names would be staged at pinned-host (R64): then it can help
  /// that a value leaves a device that has room.
  bool copies_are_staged() const;

  /// Who may leave `at` in `now`, in policy order, values that the request needs last: first those that it needs
  /// elsewhere, then (with `displace`) those that it needs here (R53, R58). Protected ones are never among them.
  std::vector<HandleId> victims(const residency::State& now, Location at, bool displace) const;

 private:
  std::vector<Requirement> sorted_;
  std::vector<char> requested_;  // by serial
  mutable std::array<std::optional<std::span<const Location>>, Location::kCount> tiers_;
  mutable std::optional<bool> staged_;
};

/// The bytes that `at` has room for beyond what is charged there; nothing where it has no budget.
std::optional<Bytes> budget_of(const residency::State& state, Location at);

/// The action that brings a requested value to `at` from where it is now: an exclusive one moves.
residency::Action placement(const residency::State& now, HandleId value, Location at);

}  // namespace fheres::control
