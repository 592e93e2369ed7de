#pragma once

#include <cstdint>

#include "run.hpp"

namespace fheres::control {

enum class Verdict { served, impossible, limit_reached };

/// Tries every way: every order of evictions, of placements, and evictions between placements. Evictions that can
/// never hurt come first (prune takes back those that were not needed), the rest is searched depth first in policy
/// order, over classes of interchangeable values, never visiting equal situations twice. `impossible` is a proof.
/// Opens at most `limit` states in all; adds those that it opened to `explored`.
Verdict search_exhaustively(const Problem& problem, Run& run, std::uint64_t limit, std::uint64_t& explored);

}  // namespace fheres::control
