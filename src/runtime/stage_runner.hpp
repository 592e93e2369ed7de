#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/runtime/interrupt.hpp>
#include <fheres/runtime/run_report.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// What a body works with.
struct BodyContext {
  residency::Manager& manager;
  residency::Scope& scope;  // open; its reservations hold outputs and workspace
  const workload::World& world;
  std::span<const residency::HandleId> handles;  // by ValueIndex; those of outputs are announced
  const ckks::Evaluator* evaluator = nullptr;    // absent where the stage has no body
  memory::Stream consumer;                       // empty at a host location
  bool time_operations = true;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(std::size_t)> progress{};  // told how many operations are over
};

/// Runs a stage's body: leases its inputs, carves outputs and workspace out of the reservations, queues every operation,
/// waits for the stream, adopts the outputs. The host is never more than a few operations ahead of the device, so that an
/// interruption comes soon. Operations and outputs are noted in `run`. Throws Interrupted between two
/// operations when asked to; whatever was queued has completed by then, on every way out.
void run_body(const workload::Stage& stage, const BodyContext& context, StageRun& run);

}  // namespace fheres::runtime
