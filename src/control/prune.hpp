#pragma once

#include "run.hpp"

namespace fheres::control {

/// Leaves out, in reverse order, each eviction without which the request is still served, with those that only it
/// required, until none can be left out (R59). The way serves the request, before and after.
void prune(const Problem& problem, Way& way);

/// Sends offloaded values to an earlier tier where that serves the request too; whether any went.
bool prefer_earlier_tiers(const Problem& problem, Way& way);

}  // namespace fheres::control
