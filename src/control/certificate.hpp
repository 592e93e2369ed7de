#pragma once

#include <optional>
#include <vector>

#include "member.hpp"
#include "problem.hpp"

namespace fheres::control {

/// A sum that proves, without search, that no plan serves the request (R59).
struct Certificate {
  Location at = Location::pageable_host();  // where room is missing: the first of `closed`
  std::vector<Location> closed{};  // more than one: locations whose values can only move among themselves
  Bytes needed = 0;                // by all that must be charged there at once
  Bytes budget = 0;                // of all of them
  std::vector<Member> members{};
  bool entangled =
      false;  // the members conflict, and fewer of them may; else without any one of them the rest fits
  std::optional<Member> load{};  // the value whose loading needs the room, where that is what fails
  /// No sum: what keeps an endpoint from being anywhere else, in words; null otherwise.
  const char* blocked = nullptr;
};

std::optional<Certificate> certify_infeasible(const Problem& problem);

/// What is at pinned-host only until a copy between two devices has arrived (R64).
void add_staged(const residency::State& state, std::vector<Member>& members);

/// All that no plan can take away from `at`: protected, only copies without a tier, reservations of others.
std::vector<Member> immovable_at(const Problem& problem, Location at);

}  // namespace fheres::control
