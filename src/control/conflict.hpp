#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exhaustive.hpp"
#include "member.hpp"

namespace fheres::control {

/// Certificates, greedy, then exhaustion: whether the request can be served at all.
Verdict judge(const Problem& problem, std::uint64_t limit, std::uint64_t& explored);

/// Every line that may have a part in a conflict.
std::vector<Member> all_members(const Problem& problem);

struct Shrunk {
  std::vector<Member> members;
  bool irreducible = true;  // false: the limit ended it early
};
/// Leaves out each member without which the others still cannot hold together, judged in a world that has nothing
/// but them.
Shrunk shrink_by_search(const Problem& problem, std::vector<Member> members, std::uint64_t limit,
                        std::uint64_t& explored);

/// The texts joined by commas, the first few of them.
std::string list(const std::vector<Conflict>& conflict);

}  // namespace fheres::control
