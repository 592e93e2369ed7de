#pragma once

#include <vector>

#include <fheres/workload/program.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// The workload as a Program without movement: values as opaque bytes, stages with what they reserve, need, carve,
/// produce and release. What every plan of it has in common; pure.
workload::Program skeleton(const Workload& workload);

/// The program that keeps exactly what `kept` says (by interval): what goes leaves when the last stage before has
/// ended, or before the first one; what is needed comes when its stage is entered, expansions first, because they need
/// room beside themselves; with `expand_first` those even before the stage's reservations are admitted, which needs less
/// room, and lets nothing run meanwhile. Only copies go to the first tier of the policy with room. Whether it holds is for a replay to
/// say: this only adds up charges.
workload::Program route(const Workload& workload, const Problem& problem, const std::vector<char>& kept,
                        bool expand_first = false);

}  // namespace fheres::compile
