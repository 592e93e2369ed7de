#pragma once

#include <cstdint>
#include <vector>

#include "bound.hpp"

namespace fheres::compile {

/// Prices of room, and by column how much of it goes on the way to them, from 0 to 1.
struct Priced {
  std::vector<std::int64_t> prices;
  std::vector<double> shares;
};

/// Prices without a linear solver, by steps along an average of what would go at the prices so far: the volume algorithm
/// (Barahona and Anbil, Mathematical Programming 87, 2000). The average nears the relaxation's solution, so it is what
/// plans and branches are made of. Begins at `start`, takes at most `rounds` steps of O(rows + columns) each, in floating
/// point; `target` is what the best plan moves, or more than any: it only sets the first steps' length. Deterministic.
Priced volume(const Bound& bound, const std::vector<std::int64_t>& start, double target, int rounds,
              const std::vector<Bound::Fixed>& fixed = {});

}  // namespace fheres::compile
