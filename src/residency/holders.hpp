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

/// In order of registration; reservations last.
std::vector<Candidate> candidates(const State& state, Location at);

/// Writes down the largest `most` of them, equal ones in the order that they come in, and how many more there are.
void tell(std::vector<Candidate> found, std::size_t most, LocationExplanation& told);

/// Tells what was told of the location before, where its residents are the same; false where that is not known.
bool recall(const HolderMemo& memo, const State& state, LocationExplanation& told);
/// Remembers what was told, where recall can know that nothing changed.
void remember(HolderMemo& memo, const State& state, const LocationExplanation& told);

}  // namespace fheres::residency
