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
  bool expands = false;          // it is expanded: counted together with its backing (R66)
  bool blocked = false;          // no sum: an exclusive endpoint is protected at another location
};

std::optional<Certificate> certify_infeasible(const Problem& problem);

/// All that no plan can take away from `at`: protected, only copies without a tier, reservations of others.
std::vector<Member> immovable_at(const Problem& problem, Location at);

}  // namespace fheres::control
