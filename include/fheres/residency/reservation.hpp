#pragma once

#include <memory>

#include <fheres/residency/allocation.hpp>
#include <fheres/residency/plan.hpp>

namespace fheres::residency {

class Core;

/// Headroom that is charged while it lives (R36). Made by Manager::reserve or a Scope. Move-only. Blocks may
/// be carved out of it and adopted from it (R38). A block that outlives its reservation keeps its own bytes
/// charged. Thread safe but for moves and destruction.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  bool active() const;
  /// As it was admitted; bytes in whole granules.
  const ReservationSpec& spec() const;
  ReservationId id() const;
  /// Bytes that are neither carved out nor adopted.
  Bytes available() const;
  /// A block out of it, after a compaction where one is needed (R27): BudgetError beyond available(),
  /// FragmentedError where protected blocks prevent it, LifetimeClosedError after release.
  Allocation allocate(Bytes bytes);
  /// A second release does nothing.
  void release() noexcept;

 private:
  friend class Core;
  friend class Manager;
  friend class Scope;
  bool belongs_to(const Core& core) const;
  struct Body;
  explicit Reservation(std::shared_ptr<Body> body);
  std::shared_ptr<Body> body_;
};

}  // namespace fheres::residency
