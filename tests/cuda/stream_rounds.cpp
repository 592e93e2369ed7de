#include "cuda/stream_rounds.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/residency/manager.hpp>

#include "support/random.hpp"

namespace fheres::test {
namespace {

using memory::Event;
using memory::Location;
using memory::Stream;
using namespace fheres::residency;

const Location kPinned = Location::pinned_host();
const Location kDevice = Location::cuda(0);
constexpr std::size_t kValues = 12;
constexpr Bytes kDeviceUnits = 24;  // of about 36 that all values have
constexpr std::size_t kSlots = 64;  // rounds whose readers may be on their way
constexpr std::size_t kMostReaders = 24;

// One round's words in pinned memory.
struct Slot {
  Gate gate;
  ReaderResult results[2];
};

constexpr Bytes kStorage = (kSlots + 1) * sizeof(Slot);  // the last one is for readers whose sum is nothing

struct Known {
  HandleId handle;
  Bytes bytes = 0;
  std::uint64_t contents = 0;
  std::uint64_t sum = 0;
};

struct Reader {
  std::uint64_t round = 0;
  Known value;
  const ReaderResult* result = nullptr;
  Event done;
};

class Rounds {
 public:
  Rounds(std::shared_ptr<memory::Driver> driver, const StreamWork& work, const RoundsOptions& options)
      : driver_(std::move(driver)), work_(work), options_(options), random_(options.seed) {
    storage_ = driver_->allocate(kPinned, kStorage);
    for (std::size_t i = 0; i <= kSlots; ++i) new (storage_ + i * sizeof(Slot)) Slot{};
    slots_ = std::launder(reinterpret_cast<Slot*>(storage_));
    ManagerOptions manager;
    manager.budgets = {{kDevice, kDeviceUnits * options.unit}, {kPinned, 8 * kValues * options.unit}};
    manager.trace_capacity = 1'000'000;
    manager_.emplace(driver_, manager);
    for (Stream& stream : consumers_) stream = driver_->make_stream(kDevice, "consumer");
    writer_ = driver_->make_stream(kDevice, "writer");
    for (std::size_t i = 0; i < kValues; ++i) values_.push_back(make_value());
    warm_up();
  }
  ~Rounds() {
    for (std::size_t i = 0; i <= kSlots; ++i) open(slots_[i]);
    try {
      driver_->synchronize_device(kDevice);
    } catch (...) {
      return;  // something may still write there
    }
    grabbed_.clear();
    manager_.reset();
    driver_->deallocate(kPinned, storage_, kStorage);
  }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void round() {
    Slot& slot = next_slot();
    const bool gated = random_.chance(2) && options_.gates;
    std::atomic_ref<Gate>(slot.gate).store(gated ? 0 : 1, std::memory_order_release);
    std::vector<Known> read;
    std::vector<Lease> leases;
    acquire(slot, read, leases);
    if (!gated && random_.chance(6)) {
      for (Lease& lease : leases) lease.release(true);
      for (const Reader& reader : readers_)
        if (reader.round == rounds_ && !driver_->complete(reader.done))
          early(reader.value, "a release that waited");
    }
    leases.clear();
    for (std::uint64_t n = 1 + random_.below(3); n > 0; --n) attack(read, gated);
    driver_->synchronize(writer_);
    open(slot);
    grabbed_.clear();
    while (readers_.size() > kMostReaders || (!readers_.empty() && driver_->complete(readers_.front().done)))
      check_oldest();
    ++rounds_;
  }

  RoundsReport finish() {
    while (!readers_.empty()) check_oldest();
    for (const Stream& stream : consumers_) driver_->synchronize(stream);
    for (const Known& value : values_) check_value(value);
    for (const TransitionReport& transition : manager_->trace()) {
      report_.prefetches += transition.asynchronous && !transition.no_op() ? 1 : 0;
      report_.device_waits += transition.device_waits;
    }
    for (const LocationSnapshot& location : manager_->snapshot().locations)
      if (location.account.at == kDevice) report_.compacted = location.compacted;
    manager_->close();
    return report_;
  }

 private:
  // ---- Values

  Known make_value() {
    Known value;
    value.bytes = (1 + random_.below(5)) * options_.unit;
    value.contents = random_.bits();
    value.sum = sum_of_contents(value.contents, value.bytes);
    Allocation block = manager_->allocate(kPinned, value.bytes);
    for (std::uint64_t i = 0; i < value.bytes / 8; ++i) {
      const std::uint64_t word = word_of(value.contents, i);
      std::memcpy(block.data() + 8 * i, &word, 8);
    }
    ValueSpec spec;
    spec.name = "v";
    spec.type = "bytes";
    spec.logical_bytes = spec.storage_bytes = value.bytes;
    value.handle = manager_->adopt(std::move(block), kPinned, spec);
    return value;
  }

  bool is_at(const Known& value, Location at) {
    return manager_->planning_state().record(value.handle).at(at) != nullptr;
  }

  // Every kind of work once, so that nothing is loaded while a reader waits for the host.
  void warm_up() {
    Slot& slot = slots_[kSlots];
    open(slot);
    Allocation block = manager_->allocate(kDevice, options_.unit);
    for (const Stream& stream : {consumers_[0], consumers_[1], writer_, manager_->transfer_stream(kDevice)}) {
      work_.fill(stream, block.data(), block.bytes(), 0);
      work_.read(stream, {block.data(), block.bytes(), &slot.gate, 0, 0, &slot.results[0]});
      driver_->synchronize(stream);
    }
  }

  // ---- Readers

  Slot& next_slot() {
    while (!readers_.empty() && readers_.front().round + kSlots <= rounds_) check_oldest();
    return slots_[rounds_ % kSlots];
  }
  static void open(Slot& slot) { std::atomic_ref<Gate>(slot.gate).store(1, std::memory_order_release); }

  const Known& draw() {
    if (wanted_next_) {
      for (const Known& value : values_)
        if (value.handle == *wanted_next_) {
          wanted_next_.reset();
          return value;
        }
    }
    return values_[random_.below(values_.size())];
  }

  // Two values for the two streams, or one for both.
  void acquire(Slot& slot, std::vector<Known>& read, std::vector<Lease>& leases) {
    const bool shared = random_.chance(4);
    for (std::size_t i = 0; i < 2; ++i) {
      if (i == 1 && shared) {
        read.push_back(read.front());
        if (!options_.unprotected) leases.front().add_consumer_stream(consumers_[1]);
        continue;
      }
      read.push_back(draw());
      bring(read.back());
      leases.push_back(
          manager_->acquire({read.back().handle}, kDevice, options_.unprotected ? writer_ : consumers_[i]));
    }
    const std::byte* data[2];
    for (std::size_t i = 0; i < 2; ++i) data[i] = leases[shared ? 0 : i].view(read[i].handle).data;
    if (options_.unprotected) leases.clear();
    for (std::size_t i = 0; i < 2; ++i) {
      work_.read(consumers_[i], {data[i], read[i].bytes, &slot.gate, options_.patience_ns,
                                 random_.below(options_.longest_idle_ns), &slot.results[i]});
      readers_.push_back({rounds_, read[i], &slot.results[i], driver_->record(consumers_[i])});
      ++report_.readers;
    }
  }

  void bring(const Known& value) {
    while (!is_at(value, kDevice)) {
      try {
        if (random_.chance(2)) {
          manager_->ensure(value.handle, kDevice);
        } else {
          keep_transfers_busy();
          manager_->prefetch(value.handle, kDevice);
        }
        return;
      } catch (const BudgetError&) {
        make_room(value);
      }
    }
  }

  // Drops what nobody reads, and waits for the oldest reader where nothing could be dropped.
  void make_room(const Known& spared) {
    if (drop_unread(spared)) return;
    for (const Known& value : values_)
      if (is_at(value, kDevice)) manager_->settle(value.handle, kDevice);
    if (drop_unread(spared)) return;
    if (readers_.empty()) throw std::logic_error("nobody reads, and there is no room");
    check_oldest();
  }

  bool drop_unread(const Known& spared) {
    bool any = false;
    for (const Known& value : values_)
      if (!(value.handle == spared.handle) && is_at(value, kDevice)) any = give_up(value) || any;
    return any;
  }

  // The device's copy goes, home where it is the last one.
  bool give_up(const Known& value) {
    try {
      manager_->move(value.handle, kPinned, kDevice);
    } catch (const InUseError&) {
      return false;
    }
    note_given_up(value);
    return true;
  }

  void check_oldest() {
    const Reader reader = readers_.front();
    readers_.pop_front();
    driver_->synchronize(reader.done);
    report_.gates_missed += reader.result->gave_up;
    if (reader.result->sum == reader.value.sum) return;
    ++report_.wrong_sums;
    tell(fmt::format("round {}: a reader of {} B saw the sum {:016x}, expected {:016x}", reader.round,
                     reader.value.bytes, reader.result->sum, reader.value.sum));
  }

  void note_given_up(const Known& value) {
    for (const Reader& reader : readers_)
      if (reader.value.handle == value.handle && !driver_->complete(reader.done)) early(value, "a removal");
  }
  void early(const Known& value, const char* what) {
    ++report_.freed_early;
    tell(fmt::format("round {}: {} of {} B came before its reader was done", rounds_, what, value.bytes));
  }
  void tell(const std::string& line) {
    if (report_.first.size() < 8) report_.first.push_back(line);
  }

  // ---- What would hurt a reader that nothing protects

  void attack(const std::vector<Known>& read, bool gated) {
    switch (random_.below(4)) {
      case 0:
        prefetch_another();
        return;
      case 1:
        if (random_.chance(2)) drop_unread(read[0]);
        grab();
        return;
      default:
        for (const Known& value : read) remove(value, gated);
        grab();
    }
  }

  // A gated reader cannot be done yet, so its value may not go.
  void remove(const Known& value, bool gated) {
    if (std::none_of(values_.begin(), values_.end(),
                     [&](const Known& v) { return v.handle == value.handle; }))
      return;  // an earlier attack ended it
    report_.attempts += gated ? 1 : 0;
    try {
      switch (random_.below(3)) {
        case 0:
          manager_->drop(value.handle, kDevice);
          break;
        case 1:
          manager_->move(value.handle, kPinned, kDevice);
          break;
        default:
          manager_->discard(value.handle);
          note_given_up(value);
          for (Known& known : values_)
            if (known.handle == value.handle) known = make_value();
          return;
      }
      note_given_up(value);
    } catch (const InUseError&) {
      report_.refused += gated ? 1 : 0;
    } catch (const OwnershipError&) {
      report_.attempts -= gated ? 1 : 0;  // the last copy, which no drop may take
    } catch (const UnavailableError&) {
      report_.attempts -= gated ? 1 : 0;  // only where an earlier attack moved it
    }
  }

  // What is queued there next is on its way for a while.
  void keep_transfers_busy() {
    Slot& slot = slots_[kSlots];
    work_.read(manager_->transfer_stream(kDevice),
               {nullptr, 0, &slot.gate, 0, random_.below(options_.longest_idle_ns), &slot.results[0]});
  }

  // An arrival; then its source is attacked.
  void prefetch_another() {
    const Known value = values_[random_.below(values_.size())];
    if (is_at(value, kDevice)) return;
    keep_transfers_busy();
    try {
      manager_->prefetch(value.handle, kDevice);
    } catch (const BudgetError&) {
      return;
    }
    wanted_next_ = value.handle;
    try {
      manager_->drop(value.handle, kPinned);
    } catch (const InUseError&) {
      return;
    }
    const Allocation block = manager_->allocate(kPinned, value.bytes);
    std::memset(block.data(), 0xee, block.bytes());
  }

  // Takes all room that there is, and overwrites it.
  void grab() {
    Bytes room = 0;
    for (const LocationSnapshot& location : manager_->snapshot().locations)
      if (location.account.at == kDevice)
        room = *location.account.budget - location.account.used - location.account.reserved;
    for (; room >= options_.unit; room = room / 2 / kGranule * kGranule) {
      try {
        grabbed_.push_back(manager_->allocate(kDevice, room));
      } catch (const FragmentedError&) {
        continue;
      }
      const Allocation& block = grabbed_.back();
      work_.fill(writer_, block.data(), block.bytes(), random_.bits());
      report_.overwritten += block.bytes();
      return;
    }
  }

  // ---- The end

  void check_value(const Known& value) {
    bring(value);
    Slot& slot = slots_[kSlots];
    {
      const Lease lease = manager_->acquire({value.handle}, kDevice, consumers_[0]);
      work_.read(consumers_[0],
                 {lease.view(value.handle).data, value.bytes, &slot.gate, 0, 0, &slot.results[1]});
    }
    driver_->synchronize(consumers_[0]);
    if (slot.results[1].sum != value.sum) {
      ++report_.wrong_sums;
      tell(fmt::format("a value of {} B is wrong on the device", value.bytes));
    }
    manager_->move(value.handle, kPinned, kDevice);
    const Lease lease = manager_->acquire({value.handle}, kPinned);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < value.bytes / 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, lease.view(value.handle).data + 8 * i, 8);
      sum += term_of(word, i);
    }
    if (sum == value.sum) return;
    ++report_.wrong_sums;
    tell(fmt::format("a value of {} B came home wrong", value.bytes));
  }

  std::shared_ptr<memory::Driver> driver_;
  const StreamWork& work_;
  const RoundsOptions options_;
  Random random_;
  std::byte* storage_ = nullptr;
  Slot* slots_ = nullptr;
  std::optional<Manager> manager_;
  Stream consumers_[2];
  Stream writer_;
  std::vector<Known> values_;
  std::deque<Reader> readers_;  // oldest first
  std::vector<Allocation> grabbed_;
  std::optional<HandleId> wanted_next_;
  std::uint64_t rounds_ = 0;
  RoundsReport report_;
};

}  // namespace

RoundsReport run_rounds(const std::shared_ptr<memory::Driver>& driver, const StreamWork& work,
                        const RoundsOptions& options) {
  Rounds rounds(driver, work, options);
  for (int i = 0; i < options.rounds; ++i) rounds.round();
  return rounds.finish();
}

}  // namespace fheres::test
