#pragma once

#include <memory>
#include <vector>

#include <fheres/memory/driver.hpp>
#include <fheres/residency/handle.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::residency {

class Core;

/// Read-only access to one leased materialization. Valid while its lease is active.
struct BlockView {
  memory::Location at = memory::Location::pageable_host();
  const std::byte* data = nullptr;
  Bytes bytes = 0;  // actual, at least spec->logical_bytes
  std::shared_ptr<const ValueSpec> spec;
};

/// Access to several values at one location (R29 to R34). Made by Manager::acquire. Move-only; an empty lease
/// is a released one. Thread safe but for moves and destruction. Release it after the last work that reads
/// the values has been queued on its consumer streams.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  /// release(false), silent. Warns only when an event cannot be recorded (R34).
  ~Lease();

  bool active() const;
  memory::Location at() const;
  /// Distinct handles in the order in which they were first given.
  std::vector<HandleId> handles() const;

  /// LifetimeClosedError after release, HandleError for a handle that is not in the lease.
  BlockView view(HandleId value) const;
  BlockView operator[](HandleId value) const { return view(value); }

  /// One more stream that reads the values; only for cuda leases, and of the same device:
  /// std::invalid_argument.
  void add_consumer_stream(const memory::Stream& stream);

  /// Ends the lease at once. Values stay protected (pending) until every consumer stream has passed this
  /// point; with `wait`, until return. Host leases end at once. A second release does nothing.
  void release(bool wait = false);

 private:
  friend class Core;
  struct Body;
  explicit Lease(std::shared_ptr<Body> body);
  std::shared_ptr<Body> body_;
};

}  // namespace fheres::residency
