#pragma once

#include <memory>

#include <fheres/memory/block.hpp>
#include <fheres/residency/handle.hpp>

namespace fheres::residency {

class Core;

/// A block of a manager's region that no value owns yet, and the charge that covers it: its own reservation
/// (Manager::allocate, label `unadopted`), or a share of a Reservation. Move-only. Destroying it frees the
/// block and ends the charge; adopting it turns the charge into used bytes. No stream may use it when it is
/// destroyed.
class Allocation {
 public:
  Allocation() = default;
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  explicit operator bool() const { return static_cast<bool>(block_); }
  memory::Location at() const { return block_.at(); }
  Bytes bytes() const { return block_.bytes(); }
  std::byte* data() const { return block_.data(); }
  memory::Extent extent() const { return block_.extent(); }

 private:
  friend class Core;
  Allocation(std::shared_ptr<Core> core, ReservationId charge, memory::Block block);
  void reset() noexcept;

  std::shared_ptr<Core> core_;
  ReservationId charge_;
  memory::Block block_;
};

}  // namespace fheres::residency
