#pragma once

#include "run.hpp"

namespace fheres::control {

/// Leaves out, in reverse order, each eviction without which the request is still served, with those that only it
/// required, until none can be left out (R59). The way serves the request, before and after.
/// With `at_most`, never to a way that moves more bytes: an eviction can make that an endpoint is expanded, or
/// is expanded for less (R66).
void prune(const Problem& problem, Way& way, std::optional<Bytes> at_most = {});

/// Sends offloaded values to an earlier tier where that serves the request too. Whether any went, which may
/// make others' evictions dispensable.
bool prefer_earlier_tiers(const Problem& problem, Way& way);

}  // namespace fheres::control
