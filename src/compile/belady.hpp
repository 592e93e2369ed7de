#pragma once

#include <cstddef>
#include <vector>

#include "choice.hpp"

namespace fheres::compile {

/// Furthest next use first, with sizes: stage by stage, where there is no room, what is needed again last goes, of equals
/// the larger; then, in reverse, whatever need not have gone is kept. O(n log n). Stages that do not fit by themselves
/// are left as they are.
Choice furthest_next_use(const Problem& problem, const std::vector<Room>& rooms);

/// Changes a choice for the better: an interval that went is kept, and cheaper ones go for it. Looks at so many
/// exchanges at most; deterministic.
void improve(Choice& choice, const Problem& problem, std::size_t exchanges);

}  // namespace fheres::compile
