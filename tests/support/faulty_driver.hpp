#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <fheres/memory/driver.hpp>

namespace fheres::test {

/// The kinds of calls that a FaultyDriver counts and can make fail. All copies are one kind.
enum class Call { allocate, copy, record, wait, enqueue, synchronize };
inline constexpr std::size_t kCallKinds = 6;

/// A driver that passes everything on to another one, counts, and makes chosen calls fail before they do
/// anything. Thread safe.
class FaultyDriver final : public memory::Driver {
 public:
  explicit FaultyDriver(std::shared_ptr<memory::Driver> inner) : inner_(std::move(inner)) {}

  /// The k-th call of this kind from now fails, k from 1; the ones after it work again. 0 disarms.
  void fail(Call kind, std::uint64_t k) {
    const std::lock_guard lock(mutex_);
    Counter& counter = counters_[static_cast<std::size_t>(kind)];
    counter.fails_at = k == 0 ? 0 : counter.calls + k;
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    for (Counter& counter : counters_) counter.fails_at = 0;
  }
  std::uint64_t calls(Call kind) const {
    const std::lock_guard lock(mutex_);
    return counters_[static_cast<std::size_t>(kind)].calls;
  }
  /// Is told of every event that was recorded, on the thread that did. Set it before the driver is shared.
  void tell_of_records(std::function<void(const memory::Stream&)> recorded) {
    recorded_ = std::move(recorded);
  }
  /// Is told of every allocation and of every queued copy that did not fail, on the thread that asked for it. Set
  /// them before the driver is shared.
  using Copied = std::function<void(const memory::Extent& destination, const memory::Extent& source)>;
  void tell_of_copies(Copied copied) { copied_ = std::move(copied); }
  void tell_of_allocations(std::function<void(const memory::Extent&)> allocated) {
    allocated_ = std::move(allocated);
  }
  /// How many calls were made to fail so far.
  std::uint64_t failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

  /// Allocations that were not given back.
  std::int64_t live() const { return live_; }

  std::string name() const override { return inner_->name(); }
  bool present(memory::Location at) const override { return inner_->present(at); }
  int device_count() const override { return inner_->device_count(); }
  std::string describe(memory::Location at) const override { return inner_->describe(at); }
  std::optional<memory::DeviceMemory> observe(memory::Location at) const noexcept override {
    return inner_->observe(at);
  }
  bool host_addressable(memory::Location at) const override { return inner_->host_addressable(at); }
  bool are_peers(memory::Location a, memory::Location b) const override { return inner_->are_peers(a, b); }
  bool one_allocation_per_block(memory::Location at) const override {
    return inner_->one_allocation_per_block(at);
  }

  std::byte* allocate(memory::Location at, Bytes bytes) override {
    if (due(Call::allocate)) throw memory::AllocationError(at, bytes, "injected");
    std::byte* data = inner_->allocate(at, bytes);
    ++live_;
    if (allocated_) allocated_({at, data, bytes});
    return data;
  }
  void deallocate(memory::Location at, std::byte* data, Bytes bytes) noexcept override {
    if (data != nullptr) --live_;
    inner_->deallocate(at, data, bytes);
  }
  memory::Stream make_stream(memory::Location device, const std::string& label) override {
    return inner_->make_stream(device, label);
  }
  void* native(const memory::Stream& stream) const noexcept override { return inner_->native(stream); }

  memory::Event record(const memory::Stream& stream) override {
    throw_when_due(Call::record, "record");
    memory::Event event = inner_->record(stream);
    if (recorded_) recorded_(stream);
    return event;
  }
  memory::Event record_timed(const memory::Stream& stream) override {
    throw_when_due(Call::record, "record_timed");
    return inner_->record_timed(stream);
  }
  std::int64_t time_ns(const memory::Event& event) const override { return inner_->time_ns(event); }
  void wait(const memory::Stream& stream, const memory::Event& event) override {
    throw_when_due(Call::wait, "wait");
    inner_->wait(stream, event);
  }
  bool complete(const memory::Event& event) const override { return inner_->complete(event); }
  void synchronize(const memory::Event& event) override {
    throw_when_due(Call::synchronize, "synchronize");
    inner_->synchronize(event);
  }
  void synchronize(const memory::Stream& stream) override {
    throw_when_due(Call::synchronize, "synchronize");
    inner_->synchronize(stream);
  }
  void synchronize_device(memory::Location device) override {
    throw_when_due(Call::synchronize, "synchronize_device");
    inner_->synchronize_device(device);
  }
  void copy(const memory::Stream& stream, const memory::Extent& destination,
            const memory::Extent& source) override {
    throw_when_due(Call::copy, "copy");
    inner_->copy(stream, destination, source);
    if (copied_) copied_(destination, source);
  }
  void copy_2d(const memory::Stream& stream, const memory::Extent& destination, const memory::Extent& source,
               const memory::Copy2D& shape) override {
    throw_when_due(Call::copy, "copy_2d");
    inner_->copy_2d(stream, destination, source, shape);
  }
  void copy_host(const memory::Extent& destination, const memory::Extent& source) override {
    throw_when_due(Call::copy, "copy_host");
    inner_->copy_host(destination, source);
  }
  void enqueue(const memory::Stream& stream, std::function<void()> work) override {
    throw_when_due(Call::enqueue, "enqueue");
    inner_->enqueue(stream, std::move(work));
  }

 private:
  struct Counter {
    std::uint64_t calls = 0;
    std::uint64_t fails_at = 0;
  };
  bool due(Call kind) {
    const std::lock_guard lock(mutex_);
    Counter& counter = counters_[static_cast<std::size_t>(kind)];
    if (++counter.calls != counter.fails_at) return false;
    ++failures_;
    return true;
  }
  void throw_when_due(Call kind, const char* call) {
    if (due(kind)) throw memory::DeviceError(call, "injected");
  }

  std::shared_ptr<memory::Driver> inner_;
  std::function<void(const memory::Stream&)> recorded_;
  Copied copied_;
  std::function<void(const memory::Extent&)> allocated_;
  mutable std::mutex mutex_;
  std::array<Counter, kCallKinds> counters_{};
  std::uint64_t failures_ = 0;
  std::atomic<std::int64_t> live_{0};
};

}  // namespace fheres::test
