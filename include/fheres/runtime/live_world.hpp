#pragma once

#include <memory>

#include <fheres/runtime/machine.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::runtime {

/// A manager on a machine that really holds a document's values: keys and inputs that a client made, opaque bytes, what
/// sources load. As a witness it answers a rehearsal from its own state, and executes each plan; results that a body
/// would compute are blocks of the right size with a pattern, since no decision depends on what is in them.
///
/// On a CUDA device a copy that was queued before may have arrived by the time a later plan is explained, which then says
/// so; everything else is the simulation's answer.
///
/// What fails on the way (a file, a device, memory) throws as in run(). Not thread safe.
class LiveWorld {
 public:
  /// The world must outlive this. memory::AllocationError, std::invalid_argument as Manager.
  LiveWorld(const workload::World& world, const Machine& machine);
  ~LiveWorld();
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  /// For one rehearsal of a document with that world; must not outlive this.
  workload::Witness witness();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fheres::runtime
