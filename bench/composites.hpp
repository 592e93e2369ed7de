#pragma once

#include "operations.hpp"

namespace fheres::bench {

/// Hoisted rotations, a linear transform and polynomials, those that the parameters have levels for.
std::vector<Operation> composites(const scheme::Parameters& parameters);

}  // namespace fheres::bench
