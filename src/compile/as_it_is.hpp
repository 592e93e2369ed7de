#pragma once

#include <fheres/compile/compile.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// What the compiler does about a workload whose variants are settled: its questions are not looked at. `quick`: the
/// controller is asked only where no other way finds a plan.
Outcome compile_as_it_is(const Workload& workload, const CompileOptions& options, bool quick = false);

}  // namespace fheres::compile
