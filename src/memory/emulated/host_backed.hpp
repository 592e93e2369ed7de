#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>

#include <fheres/base/clock.hpp>
#include <fheres/memory/driver.hpp>

#include "memory/copy_checks.hpp"

namespace fheres::memory {

/// Copies rows between two pieces of host storage.
inline void copy_rows(const Extent& destination, const Extent& source, const Copy2D& shape) {
  for (Bytes row = 0; row < shape.rows && shape.row_bytes != 0; ++row) {
    std::memcpy(destination.data + row * shape.destination_pitch, source.data + row * shape.source_pitch,
                shape.row_bytes);
  }
}
inline void copy_bytes(const Extent& destination, const Extent& source) {
  if (source.bytes != 0) std::memcpy(destination.data, source.data, source.bytes);
}

/// An event of an emulated driver.
struct HostEvent : EventState {
  std::int64_t completed_ns = 0;  // once it is complete
};

/// What both emulated drivers share: locations, storage, and when events completed. `Interface` is Driver or derives from it.
template <class Interface>
class HostBacked : public Interface {
 public:
  HostBacked(int devices, std::optional<Bytes> device_bytes, bool one_allocation_per_block)
      : devices_(devices), device_bytes_(device_bytes), apart_(one_allocation_per_block) {
    if (devices < 0 || devices > Location::kMaxDevices) {
      throw std::invalid_argument(
          fmt::format("expected 0 to {} emulated devices, got {}", Location::kMaxDevices, devices));
    }
  }

  bool present(Location at) const override { return at.is_host() || at.device() < devices_; }
  int device_count() const override { return devices_; }
  std::string describe(Location at) const override {
    if (at == Location::pageable_host()) return "host memory";
    return at.is_host() ? "page-locked host memory" : "emulated device";
  }
  bool host_addressable(Location) const override { return true; }
  bool are_peers(Location a, Location b) const override {
    return a.is_cuda() && b.is_cuda() && a != b && present(a) && present(b);
  }
  bool one_allocation_per_block(Location) const override { return apart_; }

  std::optional<DeviceMemory> observe(Location at) const noexcept override {
    if (!at.is_cuda() || !present(at) || !device_bytes_) return std::nullopt;
    const std::lock_guard lock(storage_mutex_);
    return DeviceMemory{*device_bytes_ - taken_[at.index()], *device_bytes_};
  }

  std::byte* allocate(Location at, Bytes bytes) override {
    check_present(at);
    const Bytes size = bytes == 0 ? kGranule : round_up_to_granule(bytes);
    const std::lock_guard lock(storage_mutex_);
    if (at.is_cuda() && device_bytes_ && size > *device_bytes_ - taken_[at.index()]) {
      throw AllocationError(
          at, bytes,
          fmt::format("{} of {} are free", format_exact_bytes(*device_bytes_ - taken_[at.index()]),
                      format_exact_bytes(*device_bytes_)));
    }
    std::byte* data = take_from_host(at, size);
    if (data == nullptr) throw AllocationError(at, bytes, "the operating system refused");
    taken_[at.index()] += size;
    return data;
  }

  void deallocate(Location at, std::byte* data, Bytes bytes) noexcept override {
    if (data == nullptr) return;
    const Bytes size = bytes == 0 ? kGranule : round_up_to_granule(bytes);
    const std::lock_guard lock(storage_mutex_);
    taken_[at.index()] -= size;
    if (is_mapped(at, size)) {
      ::munmap(data, size);
    } else {
      std::free(data);
    }
  }

  void* native(const Stream&) const noexcept override { return nullptr; }
  Event record_timed(const Stream& stream) override { return this->record(stream); }
  std::int64_t time_ns(const Event& event) const override {
    if (!event || !this->complete(event))
      throw std::invalid_argument("an event that is not complete has no time");
    return static_cast<const HostEvent*>(event.state())->completed_ns;
  }
  void copy_host(const Extent& destination, const Extent& source) override {
    check_copy_host(destination, source);
    copy_bytes(destination, source);
  }

 protected:
  void check_present(Location at) const {
    if (!present(at)) {
      throw std::invalid_argument(
          fmt::format("{} is not present: there are {} emulated device(s)", at.name(), devices_));
    }
  }

 private:
  // A budget may be far larger than the host: such storage takes pages only where it is written. What one block has
  // for itself comes from where the address sanitizer looks.
  bool is_mapped(Location at, Bytes size) const {
    return !apart_ && at != Location::pageable_host() && size >= kMiB;
  }
  std::byte* take_from_host(Location at, Bytes size) const {
    if (!is_mapped(at, size)) return static_cast<std::byte*>(std::aligned_alloc(kGranule, size));
    void* data =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }

  int devices_;
  std::optional<Bytes> device_bytes_;
  bool apart_;
  mutable std::mutex storage_mutex_;
  std::array<Bytes, Location::kCount> taken_{};
};

}  // namespace fheres::memory
