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
/// earlier stage, so that its move only removes; and drops what a later `reclaim` drops as soon as nothing needs it, where
/// the room helps. Residency is settled before: no byte is moved more or less, every charge
/// stays below its budget, and no more is compacted, all by rehearsal. Never slower than the Program that was given,
/// which comes back where nothing is gained or where it is infeasible (then without a forecast). What is prefetched in
/// it already stays where it is. Deterministic.
Placed place_transfers(const workload::Program& program, const workload::Machine& machine,
                       const StageCosts& costs);

}  // namespace fheres::compile
