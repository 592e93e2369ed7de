#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fheres/runtime/interrupt.hpp>
#include <fheres/runtime/machine.hpp>
#include <fheres/workload/machine.hpp>

namespace fheres::runtime {

struct CalibrateOptions {
  std::vector<std::string> presets;  // whose operations are timed; none: copies alone
  /// Levels at which, as far as a preset has them; none: the freshest, the deepest, and some in between.
  std::vector<int> levels;
  Bytes largest_copy = Bytes{256} << 20;
  int repetitions = 20;
  /// What one figure may take; where that is too short for all repetitions there are fewer, at least three.
  std::int64_t longest_ns = 250'000'000;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const std::string&)> progress;  // told what is measured next
};

/// Measures a device: copies of 64 KiB to the largest, by direction, alone on the machine; whether both directions go on
/// at once; a compaction; expansion of seeded keys; the host's time for a stage's scope; each operation at each level, on random
/// residues, which time does not depend on. Copies and operations are queued many at a time, so that what is measured is
/// what one adds to a busy stream. Every figure is a median, after a warm-up, and comes after the device's known-answer
/// test (runtime/self_test). With two devices, the second one's copies from the first too, where they are peers.
///
/// Takes the memory of one operation's operands, and of two copies. memory::DeviceError where the device answers wrong
/// or fails, memory::AllocationError, scheme::ParameterError for an unknown preset. Stopped from outside it throws
/// Interrupted.
workload::Machine calibrate(const Machine& machine, memory::Location device, const CalibrateOptions& options);

}  // namespace fheres::runtime
