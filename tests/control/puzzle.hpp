#pragma once

#include <cstdint>
#include <vector>

#include "world.hpp"

namespace fheres::control::testing {

/// A small world and a request to it.
struct Puzzle {
  World world;
  Request request;
};

/// Up to `max_values` values at three locations: replicable and exclusive, preserved and reconstructible, smaller than
/// their charge, protected in each way, on their way, announced and discarded ones; budgets that are tight or not
/// there; tiers of any kind, cycles and absent devices included; peers and copies that are staged; either order of
/// sources; priorities, keys and accesses; reservations of others and of the request. A function of the seed.
Puzzle random_puzzle(std::uint64_t seed, std::size_t max_values);

/// The world that has only these lines of a conflict: values that no line names are gone, protections, arrivals and
/// reservations are there where a line names them.
Puzzle restricted(const Puzzle& puzzle, const std::vector<Conflict>& lines);

}  // namespace fheres::control::testing
