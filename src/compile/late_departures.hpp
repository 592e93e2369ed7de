#pragma once

#include <fheres/compile/cost.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::compile {

/// The Program in which what a stage makes, and moves from its device to pinned memory when it exits, leaves one stage
/// later where there is room for it so long: the host waits for a move, but under the operations of the stage after it the
/// copy can be made ahead. Moves the same bytes, and replays where the given one does. Equal where nothing can wait.
workload::Program with_late_departures(const workload::Program& program, const StageCosts& costs);

}  // namespace fheres::compile
