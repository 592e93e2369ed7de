#pragma once

#include <fheres/compile/compile.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// A plan for a workload with questions, and one variant for each of them: for the whole workload, and together with what
/// is kept where. Selections come from prices of room (Alternatives), from exchanging one variant at a time, and, where
/// there are few, from branching over them; each is compiled and replayed like any workload. The lower bound holds for
/// every combination. Deterministic.
Outcome compile_open(const Workload& workload, const CompileOptions& options);

}  // namespace fheres::compile
