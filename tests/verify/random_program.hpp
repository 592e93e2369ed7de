#pragma once

#include <fheres/workload/program.hpp>

#include "support/random.hpp"

namespace fheres::verify::testing {

/// A small Program that may or may not be allowed: values of every kind (exclusive, reconstructible, expanded from
/// others, made by stages), budgets or none, peers or none; stages of actions that mostly make sense.
workload::Program random_program(test::Random& random);

/// One small change that keeps every index in range: an action left out, doubled, moved elsewhere in the Program,
/// given another place or source, a size, a budget or a reservation changed, ...
void damage(workload::Program& program, test::Random& random);

/// All of a Program's text in one line or a few, for failures.
std::string describe(const workload::Program& program);

}  // namespace fheres::verify::testing
