#include "residency/core.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/clock.hpp>

namespace fheres::residency {
namespace {

ManagerId next_manager() {
  static std::atomic<std::uint64_t> last{0};
  return ManagerId{++last};
}

}  // namespace

memory::Block* Stored::find(Location at) {
  for (Placed& p : blocks)
    if (p.at == at) return &p.block;
  return nullptr;
}

void Carving::forget(const std::byte* data, Bytes bytes) {
  const auto gone = std::find_if(pieces.begin(), pieces.end(),
                                 [&](const Piece& p) { return p.data == data && p.bytes == bytes; });
  if (gone != pieces.end()) pieces.erase(gone);
}

LocationPeak& PeakWatch::peak(Location at) {
  auto next = std::find_if(peaks.begin(), peaks.end(), [&](const LocationPeak& p) { return p.at >= at; });
  if (next == peaks.end() || next->at != at) next = peaks.insert(next, {at, 0, 0});
  return *next;
}

void PeakWatch::note(Location at, Bytes charged, Bytes allocated) {
  LocationPeak& seen = peak(at);
  seen.charged = std::max(seen.charged, charged);
  seen.allocated = std::max(seen.allocated, allocated);
}

void PeakWatch::note_compaction(Location at, Bytes bytes) { peak(at).compacted += bytes; }

void keep_forever(memory::Block block) noexcept {
  // Never destroyed, so that neither the block nor its region is given back under the reader.
  static auto* kept = new std::vector<memory::Block>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(block));
}

// ---- The transition lock

TransitionLock::TransitionLock(Core& core) : core_(core) {
  std::unique_lock lock(core.mutex);
  for (;;) {
    core.check_open();
    if (!core.busy) break;
    if (core.holder == std::this_thread::get_id()) throw ReentrancyError();
    ++core.waiting;
    core.lock_is_free.wait(lock);
    --core.waiting;
  }
  core.busy = true;
  core.holder = std::this_thread::get_id();
}

TransitionLock::~TransitionLock() {
  std::vector<std::string> warnings;
  {
    const std::lock_guard lock(core_.mutex);
    core_.busy = false;
    if (core_.waiting > 0) core_.lock_is_free.notify_one();
    warnings.swap(core_.warnings);
  }
  for (const std::string& warning : warnings) core_.warn(warning);
}

// ---- Core

Core::Core(std::shared_ptr<memory::Driver> machine, ManagerOptions given)
    : driver(std::move(machine)),
      options(std::move(given)),
      id(next_manager()),
      state(id, options.budgets, driver->device_count(), options.copies) {
  for (const auto& [at, budget] : options.budgets)
    regions[at.index()] = memory::Region::make(driver, at, budget);
}

Core::~Core() {
  // Only pending tokens can be left: every other token keeps this object alive.
  reap(true);
  for (Arriving& a : arrivals)
    for (memory::Block* block : {&a.staging, &a.temporary})
      if (*block) keep_forever(std::move(*block));
  for (std::size_t serial = 0; serial < stored.size(); ++serial)
    for (const Materialization& m : state.records()[serial].materializations)
      if (m.protection.any())
        if (memory::Block* block = stored[serial].find(m.at)) keep_forever(std::move(*block));
}

void Core::check_open() const {
  if (loading) throw ReentrancyError();  // R18
  if (closed) throw ClosedError();       // R63
}

bool Core::complete(const memory::Event& event) const noexcept {
  try {
    return !event || driver->complete(event);
  } catch (...) {
    return false;  // a device that does not answer may still be reading
  }
}

void Core::reap(bool all) {
  std::erase_if(pending, [&](Pending& p) {
    if (p.forever) return false;
    std::erase_if(p.events, [&](const memory::Event& e) { return complete(e); });
    if (!p.events.empty()) return false;
    for (const HandleId value : p.values) state.unprotect(value, p.at, State::Token::pending);
    return true;
  });
  if (options.arrivals_end_when_settled && !all) return tell_arrivals();
  std::erase_if(arrivals, [&](Arriving& a) {
    if (!complete(a.ready)) return false;
    tell_arrival(a);
    state.settle(a.value, a.at);
    return true;
  });
  told_arrivals = 0;
}

std::pair<State, Layout> Core::observed() {
  State copy = state;
  Layout addresses = layout();
  for (const Pending& p : pending) {
    const auto done = [&](const memory::Event& e) { return complete(e); };
    if (p.forever || !std::all_of(p.events.begin(), p.events.end(), done)) continue;
    for (const HandleId value : p.values) copy.unprotect(value, p.at, State::Token::pending);
  }
  if (options.arrivals_end_when_settled) return {std::move(copy), std::move(addresses)};
  for (const Arriving& a : arrivals)
    if (complete(a.ready)) residency::settle(copy, addresses, {a.value, a.at});
  return {std::move(copy), std::move(addresses)};
}

void Core::compare_version(std::optional<std::uint64_t> expected) const {
  if (expected && *expected != state.version()) throw StaleStateError(*expected, state.version());  // R49
}

void Core::note_peak(Location at) {
  if (watches.empty()) return;
  const Account* account = state.account(at);
  if (account == nullptr) return;
  const auto& storage = regions[at.index()];
  const Bytes allocated = storage ? storage->allocated() : 0;
  for (PeakWatch* watch : watches) watch->note(at, account->used + account->reserved, allocated);
}

void Core::record(TransitionReport report) {
  ++transitions;
  if (options.trace_capacity == 0) return;
  if (trace.size() == options.trace_capacity) trace.pop_front();
  trace.push_back(std::move(report));
}

std::shared_ptr<memory::Region> Core::region(Location at) {
  {
    const std::lock_guard lock(mutex);
    if (const auto& found = regions[at.index()]) return found;
  }
  auto made = memory::Region::make(driver, at, std::nullopt);
  const std::lock_guard lock(mutex);
  return regions[at.index()] = std::move(made);
}

memory::Stream Core::transfer_stream(Location device) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = streams.find(device); found != streams.end()) return found->second;
  }
  memory::Stream made = driver->make_stream(device, "transfer");
  const std::lock_guard lock(mutex);
  return streams.try_emplace(device, std::move(made)).first->second;
}

void Core::warn(const std::string& message) const noexcept {
  try {
    if (options.warn) {
      options.warn(message);
    } else {
      std::fprintf(stderr, "fheres: %s\n", message.c_str());
    }
  } catch (...) {
    // The sink promised not to throw, and there is nobody left to tell.
  }
}

std::optional<memory::DeviceMemory> Core::observe(std::optional<Location> at) const noexcept {
  if (!options.observe_devices || !at || !at->is_cuda()) return std::nullopt;
  return driver->observe(*at);  // R28: absent where it fails
}

Explanation Core::explain(const Plan& plan, std::optional<std::uint64_t> expected, Detail detail) {
  std::unique_lock lock(mutex);
  check_open();
  compare_version(expected);
  const std::uint64_t version = state.version();
  auto [copy, addresses] = observed();
  lock.unlock();
  Explanation told = simulate(std::move(copy), std::move(addresses), plan, detail).explanation;
  told.state_version = version;
  return told;
}

// ---- The end (R63)

void Core::wait_for_pending() {
  for (;;) {
    std::vector<memory::Event> events;
    {
      const std::lock_guard lock(mutex);
      check_open();
      reap(true);
      for (const Pending& p : pending) events.insert(events.end(), p.events.begin(), p.events.end());
      for (const Arriving& a : arrivals) events.push_back(a.ready);
    }
    if (events.empty()) return;
    for (const memory::Event& e : events) driver->synchronize(e);
    const std::lock_guard lock(mutex);
    end_events(events);
  }
}

void Core::end_events(std::span<const memory::Event> done) {
  for (Pending& p : pending)
    std::erase_if(p.events, [&](const memory::Event& e) {
      return std::find(done.begin(), done.end(), e) != done.end();
    });
  for (Arriving& a : arrivals)
    if (std::find(done.begin(), done.end(), a.ready) != done.end()) a.ready = {};
}

void Core::force_end() {
  std::vector<Location> devices;
  {
    const std::lock_guard lock(mutex);
    for (const Account& a : state.accounts())
      if (a.at.is_cuda()) devices.push_back(a.at);
  }
  for (const Location device : devices) driver->synchronize_device(device);
}

void Core::close(bool wait, bool force) {
  {
    const std::lock_guard lock(mutex);
    if (loading) throw ReentrancyError();
    if (closed) return;
  }
  if (wait && !force) wait_for_pending();
  const TransitionLock transition(*this);
  if (force) force_end();
  std::vector<Stored> freed;
  {
    const std::lock_guard lock(mutex);
    reap(true);
    if (!force) {
      Protection counts;
      for (const ValueRecord& record : state.records())
        for (const Materialization& m : record.materializations) {
          counts.use += m.protection.use;
          counts.hold += m.protection.hold;
          counts.pending += m.protection.pending;
        }
      if (counts.any() || !state.reservations().empty())
        throw InUseError(counts,
                         fmt::format("the manager cannot close: {} in use, {} held, {} pending, {} "
                                     "reservations",
                                     counts.use, counts.hold, counts.pending, state.reservations().size()));
    }
    closed = true;
    pending.clear();
    arrivals.clear();
    freed.swap(stored);
    lock_is_free.notify_all();
  }
  // Out of the mutex: giving storage back to a driver can take a while.
  freed.clear();
}

void Core::abandon() noexcept {
  try {
    std::string left;
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      reap(true);
      std::size_t protections = 0;
      for (const ValueRecord& record : state.records())
        for (const Materialization& m : record.materializations)
          protections += m.protection.use + m.protection.hold + m.protection.pending;
      if (protections != 0 || !state.reservations().empty())
        left =
            fmt::format("a manager was destroyed without close: {} protections and {} reservations are left",
                        protections, state.reservations().size());
    }
    if (!left.empty()) warn(left);
  } catch (...) {
    warn("a manager was destroyed without close");
  }
}

}  // namespace fheres::residency
