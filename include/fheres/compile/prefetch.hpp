#pragma once

#include <fheres/compile/cost.hpp>

namespace fheres::compile {

/// A Program whose transfers run under its operations where that is faster, and what it then takes.
struct Placed {
  workload::Program program;
  Forecast forecast;
};

/// Moves ensures at devices from `enter` to the `prefetch` of the same or an earlier stage, as late as the bandwidth
/// allows and as early as the budgets allow; and copies what leaves a device for pinned memory in the `prefetch` of an
/// earlier stage, so that its move only removes; and, where the room or the time helps, drops what a later `reclaim` drops
/// or nobody needs again as soon as nothing needs it, lets what a stage makes and sends away leave one stage later, and
/// names in `enter` what has long arrived, so that it slides (R23, R27). Residency is settled before: no byte is moved more
/// or less, and every charge stays below its budget, by rehearsal; what is compacted counts as time. Never slower than the
/// Program that was given, which comes back where nothing is gained or where it is infeasible (then without a forecast).
/// What is prefetched in it already stays where it is. Deterministic.
Placed place_transfers(const workload::Program& program, const workload::Machine& machine,
                       const StageCosts& costs);

}  // namespace fheres::compile
