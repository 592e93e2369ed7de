#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <fheres/base/bytes.hpp>
#include <fheres/base/error.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/memory/stream.hpp>

namespace fheres::memory {

/// A piece of storage at a location. Owns nothing.
struct Extent {
  Location at = Location::pageable_host();
  std::byte* data = nullptr;
  Bytes bytes = 0;
};

/// Same rows of `row_bytes` each in both; `pitch` is the distance between the starts of two rows, in bytes.
struct Copy2D {
  Bytes rows = 1;
  Bytes row_bytes = 0;
  Bytes destination_pitch = 0;
  Bytes source_pitch = 0;
};

/// What a device said of itself. Evidence only: admission never reads it (R28).
struct DeviceMemory {
  Bytes free = 0;
  Bytes total = 0;
};

/// The vendor or the operating system had no room. Code `memory/allocation`.
class AllocationError : public Error {
 public:
  AllocationError(Location at, Bytes requested, const std::string& detail);
  Location at;
  Bytes requested;
};

/// A copy, launch, stream or event call failed. Code `memory/device`; `call` names it.
class DeviceError : public Error {
 public:
  DeviceError(std::string failed_call, const std::string& detail);
  std::string call;
};

/// The machine: storage, copies, streams and events of *all* locations, so that a copy between any two has
/// one owner. One object per process serves every manager. This is one of the project's three virtual
/// interfaces; implementations are the emulated drivers (memory/emulated.hpp) and CUDA (memory/cuda.hpp).
///
/// Thread safe. No call depends on an ambient device or a default stream. Every failure throws
/// AllocationError or DeviceError and leaves nothing half done, and a senseless argument throws
/// std::invalid_argument; only the calls marked noexcept swallow failures.
class Driver {
 public:
  virtual ~Driver() = default;
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// `emulated`, `stepped` or `cuda`.
  virtual std::string name() const = 0;
  /// Whether the location exists here (R3). Host locations always do.
  virtual bool present(Location at) const = 0;
  /// How many cuda locations there are; they are cuda:0 .. cuda:n-1.
  virtual int device_count() const = 0;
  /// For people: `NVIDIA H200`, `emulated device`.
  virtual std::string describe(Location at) const = 0;
  virtual std::optional<DeviceMemory> observe(Location at) const noexcept = 0;
  /// Whether the host can read and write storage there by its address: true everywhere on emulated drivers.
  virtual bool host_addressable(Location at) const { return at.is_host(); }
  /// Whether two different devices copy to each other directly. Copies work between all of them; this says which
  /// pairs may be called peers (R64).
  virtual bool are_peers(Location a, Location b) const = 0;
  /// Whether regions there give each block an allocation of its own, for memory checkers. An option of every driver;
  /// costs an allocation for each block, so never for measuring.
  virtual bool one_allocation_per_block(Location) const { return false; }

  /// Raw storage, aligned to kGranule. Slow (pinned memory takes 0.5 s a GiB): allocate regions once.
  virtual std::byte* allocate(Location at, Bytes bytes) = 0;
  virtual void deallocate(Location at, std::byte* data, Bytes bytes) noexcept = 0;

  /// A new stream on a cuda location; `label` appears in traces.
  virtual Stream make_stream(Location device, const std::string& label) = 0;
  /// The vendor's stream for launching kernels, or null where there is none (emulated).
  virtual void* native(const Stream& stream) const noexcept = 0;

  /// Completes when all work that is in the stream now has completed.
  virtual Event record(const Stream& stream) = 0;
  /// The same, and the event keeps when that was.
  virtual Event record_timed(const Stream& stream) = 0;
  /// When a complete event of record_timed completed, on the clock of now_ns(). For reports: two of one device lie
  /// right to each other by about a microsecond, to the host's own by some ten. std::invalid_argument for any other.
  virtual std::int64_t time_ns(const Event& event) const = 0;
  /// Later work of `stream` starts only after `event`. Does not block the caller.
  virtual void wait(const Stream& stream, const Event& event) = 0;
  virtual bool complete(const Event& event) const = 0;
  virtual void synchronize(const Event& event) = 0;
  virtual void synchronize(const Stream& stream) = 0;
  virtual void synchronize_device(Location device) = 0;

  /// Queues a copy of `source.bytes` bytes; both extents have the same size and do not overlap. At least one
  /// end is the stream's device, or the copy is between two devices. A pageable end may block the caller.
  /// Storage must stay valid until the stream has passed it.
  virtual void copy(const Stream& stream, const Extent& destination, const Extent& source) = 0;
  /// The same for rows. Extents cover the rows with their pitch.
  virtual void copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
                       const Copy2D& shape) = 0;
  /// Between two host locations, on the calling thread, complete on return.
  virtual void copy_host(const Extent& destination, const Extent& source) = 0;
  /// Queues a function of the host in the stream's order. It must not call the driver or throw. On CUDA it comes late
  /// where copies wait in other streams (the vendor runs it after those that were queued before it), and holds up
  /// its stream: not for what happens at a rate, nor to tell the time (record_timed).
  virtual void enqueue(const Stream& stream, std::function<void()> work) = 0;
};

}  // namespace fheres::memory
