#pragma once

#include <fheres/compile/cost.hpp>
#include <fheres/workload/program.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::compile {

/// The Program with every drop of a stage's `reclaim` in the `reclaim` right after the last stage that did something with
/// the value, and with a drop there of what nobody does anything with any more and a host location has too: a plan evicts
/// when it has to, but room that is free earlier lets a transfer begin earlier. Moves the same bytes. `rehearsal`: of that
/// Program, feasible. What is right has to be rehearsed: where the value is another's backing, or its stage does more with
/// it, the drop stays.
workload::Program with_early_drops(const workload::Program& program, const workload::Rehearsal& rehearsal,
                                   const StageCosts& costs);

/// Whether a stage does anything with a value, but for a drop in its reclaim.
bool uses(const workload::ProgramStage& stage, const StageCost& cost, ValueIndex value);

}  // namespace fheres::compile
