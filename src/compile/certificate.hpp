#pragma once

#include <optional>

#include <fheres/compile/compile.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// A sum that no plan gets around: values start at a location beyond its budget, or a stage's reservations, what it
/// requires, and what cannot leave exceed it. The first such stage; nothing where there is none.
std::optional<Infeasible> find_certificate(const Workload& workload, const Problem& problem);

}  // namespace fheres::compile
