#pragma once

#include <vector>

#include "interchange.hpp"
#include "run.hpp"
#include "trial.hpp"

namespace fheres::control {

/// Evictions that no plan can regret: a value that the request does not need leaves its budgeted locations, where it
/// survives elsewhere or can be rebuilt. Any plan works as well without it. With `moves`, it may also survive by
/// moving to a tier without a budget, which costs its bytes.
void take_harmless_evictions(const Problem& problem, Run& run, bool moves);

/// What may be done next, best first: go on with the request, else make room, first where room is lacking. Of
/// interchangeable victims only the first in policy order. What is left out can do nothing that these cannot.
std::vector<Step> next_steps(const Problem& problem, Classes& classes, Trial& trial);

}  // namespace fheres::control
