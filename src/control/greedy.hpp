#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run.hpp"

namespace fheres::control {

/// The way that needs no search: where a reservation or an endpoint lacks room, victims leave in policy order, to
/// tiers that get room in turn, until it fits. On success the run has served the request; on failure there may
/// still be another way. `explored` counts the steps;
/// `lacking` is the location that lacked room in the end.
bool greedy(const Problem& problem, Run& run, std::uint64_t& explored, std::optional<Location>& lacking);

/// All evictions first, otherwise in the same order.
std::vector<Step> evictions_first(std::vector<Step> steps);

}  // namespace fheres::control
