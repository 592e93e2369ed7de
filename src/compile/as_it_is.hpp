#pragma once

#include <fheres/compile/compile.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// What the compiler does about a workload whose variants are settled: its questions are not looked at.
Outcome compile_as_it_is(const Workload& workload, const CompileOptions& options);

}  // namespace fheres::compile
