#pragma once

#include <fheres/compile/cost.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::compile {

/// The Program with every drop of a stage's `reclaim` in the `reclaim` right after the last stage that did something with
/// the value: a plan evicts when it has to, but room that is free earlier lets a transfer begin earlier. Moves the same
/// bytes. What is right has to be rehearsed: where the value is another's backing, or its stage does more with it, the
/// drop stays.
workload::Program with_early_drops(const workload::Program& program, const StageCosts& costs);

}  // namespace fheres::compile
