#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/driver.hpp>

namespace fheres::memory {

struct EmulatedOptions {
  int devices = 1;                                   // 0 to Location::kMaxDevices
  std::optional<Bytes> device_bytes = std::nullopt;  // of each device; without it, what the host gives
  bool one_allocation_per_block = false;             // as Driver::one_allocation_per_block
};

/// A machine whose devices are the host: device memory is host memory (mapped when it is first touched), each
/// stream is one thread that runs its queue in order. Nothing waits for the caller and the caller for nothing
/// but synchronize, pageable ends included. A stream that loses its last handle finishes its queue first; whoever
/// dropped it waits for that, unless it is queued work itself, which may hold up what that stream waits for.
std::shared_ptr<Driver> make_emulated_driver(const EmulatedOptions& options = {});

struct SteppedOptions {
  int devices = 1;
  std::optional<Bytes> device_bytes = std::nullopt;
  std::uint64_t seed = 1;
  /// What synchronize runs: only the work that the event or stream depends on, or whatever the scheduler
  /// draws until it is done.
  bool synchronize_only_what_is_needed = false;
  bool one_allocation_per_block = false;  // as Driver::one_allocation_per_block
};

/// The emulated machine without threads, for tests: queued work completes when the test, or a synchronize,
/// lets a seeded scheduler run it. The same seed and calls give the same order. Calls from several threads
/// are safe, and work runs on the thread that steps.
class SteppedDriver : public Driver {
 public:
  /// Runs the first operation of one stream, drawn among those that can go on. False when none can.
  virtual bool step() = 0;
  /// Runs the first operation of this stream. False when it is empty, held, or waits for an event.
  virtual bool step(const Stream& stream) = 0;
  /// Steps until nothing can go on; returns how many operations ran.
  virtual std::size_t run_until_idle() = 0;

  /// A held stream runs nothing until it is let go. A synchronize that cannot end without it is
  /// std::logic_error.
  virtual void hold(const Stream& stream) = 0;
  virtual void let_go(const Stream& stream) = 0;

  /// How many operations the stream has run, and was ever given.
  virtual std::uint64_t executed(const Stream& stream) const = 0;
  virtual std::uint64_t submitted(const Stream& stream) const = 0;
  /// Copies that were queued and have not run, of all streams.
  virtual std::size_t queued_copies() const = 0;
};
std::shared_ptr<SteppedDriver> make_stepped_driver(const SteppedOptions& options = {});

}  // namespace fheres::memory
