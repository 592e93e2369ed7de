#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fheres/memory/block.hpp>
#include <fheres/residency/manager.hpp>
#include <fheres/residency/source.hpp>
#include <fheres/residency/state.hpp>
#include <fheres/residency/trace.hpp>

namespace fheres::residency {

/// A block that a value owns.
struct Placed {
  Location at;
  memory::Block block;
};

/// What only storage knows of a value; its index is the value's serial.
struct Stored {
  std::vector<Placed> blocks;
  std::shared_ptr<const Source> source;
  std::shared_ptr<const Expand> expand;
  memory::Block* find(Location at);
};

/// Consumers that may still read: pending tokens and the events that end them.
struct Pending {
  std::vector<memory::Event> events;
  Location at;
  std::vector<HandleId> values;
  bool forever = false;  // its streams could be neither recorded nor synchronized (R34)
};

/// A copy that is on its way to a materialization, and the event that ends it (R21).
struct Arriving {
  HandleId value;
  Location at;
  memory::Stream stream;       // what makes it is queued there
  memory::Event ready;         // at the end of that; empty: it has been waited for
  memory::Block staging;       // of a staged copy between devices (R64)
  memory::Block temporary;     // the copy of its backing that it is expanded from (R66)
  std::uint64_t sequence = 0;  // of its report
  std::int64_t stall_ns = 0;
  std::uint32_t device_waits = 0;
  bool told = false;  // its report says that it is there
};

/// Blocks that are carved out of a reservation and not adopted.
struct Carving {
  struct Piece {
    const std::byte* data;
    Bytes bytes;
    Bytes offset;  // in the region's arena, where it has one: nothing slides it
  };
  ReservationId id;
  Bytes carved = 0;       // in whole granules
  bool released = false;  // its token; what is carved stays charged
  std::vector<Piece> pieces{};

  void forget(const std::byte* data, Bytes bytes);
};

/// Follows a scope's peaks while it is open.
struct PeakWatch {
  std::vector<LocationPeak> peaks;  // in location order
  void note(Location at, Bytes charged, Bytes allocated);
  void note_compaction(Location at, Bytes bytes);

 private:
  LocationPeak& peak(Location at);
};

/// What Manager, its tokens and its scopes share: State, the storage behind it, and the two locks.
///
/// The *transition lock* (TransitionLock) makes transitions, whole scope entries and exits happen one at a
/// time, so that a preflight stays true; it is held through copies and callbacks. The *state mutex* guards
/// every member below it and is never held while waiting. A thread that has the transition lock may read what
/// only its holders change (blocks of values, regions) between two holds of the mutex.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::shared_ptr<memory::Driver> driver, ManagerOptions options);
  ~Core();

  const std::shared_ptr<memory::Driver> driver;
  const ManagerOptions options;
  const ManagerId id;

  std::mutex mutex;
  std::condition_variable lock_is_free;
  int waiting = 0;
  bool busy = false;         // somebody has the transition lock
  std::thread::id holder{};  // who that is
  bool loading = false;      // a source runs (R18)
  bool closed = false;
  State state;
  std::vector<Stored> stored;
  std::vector<Pending> pending;
  std::vector<Arriving> arrivals;        // in the order in which they were queued
  std::size_t told_arrivals = 0;         // the first so many are told
  std::vector<Location> arrival_places;  // where anything ever arrived
  std::vector<Carving> carvings;
  std::vector<PeakWatch*> watches;
  std::array<std::shared_ptr<memory::Region>, Location::kCount> regions;
  std::map<Location, memory::Stream> streams;
  std::map<Location, Bytes> compacted;  // ever
  std::deque<TransitionReport> trace;
  std::uint64_t transitions = 0;
  std::vector<std::string> warnings;  // of whoever has the transition lock, for when it is given back

  // With the mutex held.
  void check_open() const;  // ReentrancyError, ClosedError
  /// Ends pending tokens whose consumers are done (R33), and arrivals that are complete, unless they have to be settled;
  /// with `all` those too, at the manager's end (R23).
  void reap(bool all = false);
  Arriving* arriving(HandleId value, Location at);  // null: nothing is on its way there
  /// Arrivals that are not known to be complete, in the order in which they were queued.
  std::vector<Arriving*> on_their_way(std::span<const HandleId> values, Location at);
  /// These events have been waited for: reap need not ask about them again.
  void end_events(std::span<const memory::Event> done);
  void note_arrival(Arriving arrival);
  void compare_version(std::optional<std::uint64_t> expected) const;
  void note_peak(Location at);
  void record(TransitionReport report);
  /// State and addresses as they would be after reaping, without reaping.
  std::pair<State, Layout> observed();
  /// Addresses as they are now: of all values, or of these alone.
  Layout layout(std::optional<std::span<const HandleId>> only = {}) const;

  // Without the mutex.
  /// The region of a present location. Makes it at first use: needs the transition lock.
  std::shared_ptr<memory::Region> region(Location at);
  memory::Stream transfer_stream(Location device);
  /// Storage that is charged already: needs the transition lock. Compacts where the bytes are in no single piece
  /// (R27), and tells how many slid. FragmentedError where protected blocks prevent it.
  struct Made {
    memory::Block block;
    Bytes compacted = 0;
  };
  Made make_block(Location at, Bytes bytes, memory::End end = memory::End::low);
  void gather(Location at, Bytes bytes);
  void warn(const std::string& message) const noexcept;
  std::optional<memory::DeviceMemory> observe(std::optional<Location> at) const noexcept;
  bool complete(const memory::Event& event) const noexcept;
  // Arrivals (arrival.cpp).
  /// Waits on the host until what arrives at `at`, if anything does, is there.
  void await(HandleId value, Location at);
  /// The same, and ends the arrival (R23).
  void settle(HandleId value, Location at);
  /// Work that comes later in `stream` starts after what is under way of these to `at` has arrived (R22). Of what was
  /// queued in one stream, the last one is waited for.
  void order_after_arrivals(const memory::Stream& stream, std::span<const HandleId> values, Location at);
  /// Waits on the host until all of these arrivals that are under way are complete, and knows them to be.
  void await(std::span<const ValuePlace> places);
  /// With the mutex held: ends those arrivals that are known to be complete.
  void end_arrivals(std::span<const ValuePlace> places);
  /// Settles the arrivals that the action would take an end from (R23).
  void settle_for(const Action& action);

  // Values (values.cpp).
  Allocation allocate(Location at, Bytes bytes);
  HandleId announce(const ValueSpec& spec);
  /// A new value, or the announced one.
  HandleId adopt(Allocation& allocation, Location at, const ValueSpec& spec);
  void adopt(Allocation& allocation, Location at, HandleId announced);
  HandleId adopt(Allocation& allocation, Location at, const ValueSpec& spec,
                 std::optional<HandleId> announced);
  HandleId adopt(memory::Block& block, Location at, const ValueSpec& spec, std::optional<ReservationId> from);
  HandleId register_source(const ValueSpec& spec, Source source, Location at);
  HandleId register_backed(const ValueSpec& spec, HandleId backing, Expand expand);

  // Reservations (reservation.cpp).
  /// Needs the transition lock.
  Reservation admit(const ReservationSpec& spec);
  Allocation carve(ReservationId id, Location at, Bytes bytes);
  void end_reservation(ReservationId id) noexcept;
  void end_allocation(ReservationId id, const std::byte* data, Bytes bytes) noexcept;
  Bytes available(ReservationId id);
  /// With the mutex held.
  void note_carved(ReservationId id, const memory::Block& block);

  // Protections (lease.cpp, hold.cpp).
  Lease acquire(std::span<const HandleId> values, Location at, const memory::Stream& consumer);
  Hold hold(std::span<const HandleId> values, Location at);
  /// Distinct handles in order, each materialized at `at`, else the refusal's exception. With the mutex held.
  std::vector<HandleId> protectable(std::span<const HandleId> values, Location at) const;

  // Plans (scope.cpp).
  Scope make_scope(Plan plan, TransferStreams transfer_streams, std::optional<std::uint64_t> expected);

  // Observation and end.
  Explanation explain(const Plan& plan, std::optional<std::uint64_t> expected, Detail detail);
  Snapshot snapshot();
  void close(bool wait, bool force);
  /// The manager object is gone and nobody closed it.
  void abandon() noexcept;

 private:
  void tell_arrival(Arriving& arrived);
  void tell_arrivals();
  void tell_arrivals_from(std::size_t first);
  void wait_for_pending();
  void force_end();
  Bytes compact(memory::Region& storage, Bytes bytes);
};

/// Holds the transition lock of a core. ReentrancyError while a source loads, also for a thread that waits
/// already when the load starts, and for a thread that has it: an expansion (R66). ClosedError once the manager is
/// closed.
class TransitionLock {
 public:
  explicit TransitionLock(Core& core);
  ~TransitionLock();
  TransitionLock(const TransitionLock&) = delete;
  TransitionLock& operator=(const TransitionLock&) = delete;

 private:
  Core& core_;
};

/// Keeps a block until the process ends: its reader could not be waited for.
void keep_forever(memory::Block block) noexcept;

struct Hold::Body {
  std::shared_ptr<Core> core;
  Location at;
  std::vector<HandleId> values;
  bool active = true;
};

struct Reservation::Body {
  std::shared_ptr<Core> core;
  ReservationId id;
  ReservationSpec spec;
  bool active = true;
};

}  // namespace fheres::residency
