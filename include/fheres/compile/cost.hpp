#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fheres/workload/machine.hpp>
#include <fheres/workload/program.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::compile {

using workload::Location;
using workload::ValueIndex;

/// One operation of a stage's body: how long the device takes, and the managed values that it waits for.
struct OperationCost {
  double ns = 0;
  std::vector<ValueIndex> reads;  // of Program::world
};

/// A stage's body on the machine, in order. Without operations it takes no time, and waits for what its Program's stage
/// requires.
struct StageCost {
  std::optional<Location> at;
  std::vector<OperationCost> operations;
};
/// One a stage of a Program.
using StageCosts = std::vector<StageCost>;

/// Of a Program that places a workload. Operations that the machine does not know are taken to last as long as copies of
/// what they read would, so that there is something to hide transfers under; `unknown`, where given, counts them. A
/// Program alone (no workload): bodies without operations.
StageCosts costs_of(const workload::Program& program, const workload::Workload* workload,
                    const workload::Machine& machine, std::size_t* unknown = nullptr);

/// How long a Program takes on a machine, and why it cannot be faster. Times from the start of the first stage.
struct Forecast {
  struct Stage {
    std::string name;
    double start_ns = 0;
    double body_ns = 0;  // when its body is queued: its transfers that the host waits for are over
    double end_ns = 0;
    double compute_ns = 0;  // of its operations
    double stall_ns = 0;    // that its operations wait for arrivals
  };
  struct Direction {
    Location from = Location::pageable_host();
    Location to = Location::pageable_host();
    Bytes bytes = 0;
    double ns = 0;  // alone on the machine
  };
  struct Stall {
    ValueIndex value = 0;
    std::size_t stage = 0;
    double ns = 0;
  };
  std::vector<Stage> stages;
  std::vector<Direction> directions;  // in location order
  std::vector<Stall> stalls;          // those of more than 0 ns, by stage
  double compute_ns = 0;
  double compaction_ns = 0;  // that the host waits for blocks that slide (R27)
  double makespan_ns = 0;
  /// No placement of the same transfers is faster: the largest of all operations, all copies of one direction, and of
  /// every chain of the copies that an operation has to wait for, it and all operations after it, or of all operations
  /// up to one and the copies that cannot start before.
  double bound_ns = 0;
  std::size_t unknown_copies = 0;  // whose direction the machine does not know: they count as nothing
};

/// Plays a feasible Program's rehearsal on the machine as the runtime does (R39): the host waits for every transfer of
/// reclaim, enter and exit, for every compaction, and for the body and what it reads; prefetched copies run meanwhile, one after the other in each direction of
/// each device; an operation starts when those before it are over and what it reads has arrived. Pure.
Forecast forecast(const workload::Program& program, const workload::Rehearsal& rehearsal,
                  const workload::Machine& machine, const StageCosts& costs);

}  // namespace fheres::compile
