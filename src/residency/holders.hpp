#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/residency/explain.hpp>

// Who holds the room at a location, for explanations.
namespace fheres::residency {

/// A holder before its name is copied: there may be very many of which few are told.
struct Candidate {
  std::optional<HandleId> value{};
  const std::string* name = nullptr;
  Bytes charged = 0;
  Protection protection{};
};

struct Candidates {
  std::vector<Candidate>
      list;                  // in order of registration, or the largest first; what is no resident comes last
  std::size_t left_out = 0;  // residents that are no larger than any that the list has
  Bytes left_out_bytes = 0;
};

/// All of them.
Candidates candidates(const State& state, Location at);
/// Those among which the largest `most` are.
Candidates candidates(const State& state, Location at, std::size_t most, HolderMemo& memo);

/// Writes down the largest `most` of them, equal ones in the order that they come in, and how many more there are.
void tell(Candidates found, std::size_t most, LocationExplanation& told);

}  // namespace fheres::residency
