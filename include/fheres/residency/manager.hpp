#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/memory/block.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/residency/allocation.hpp>
#include <fheres/residency/backing.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/hold.hpp>
#include <fheres/residency/lease.hpp>
#include <fheres/residency/reservation.hpp>
#include <fheres/residency/scope.hpp>
#include <fheres/residency/snapshot.hpp>
#include <fheres/residency/source.hpp>
#include <fheres/residency/state.hpp>
#include <fheres/residency/trace.hpp>

namespace fheres::residency {

struct ManagerOptions {
  /// Bytes per location; what is not listed is unbudgeted (R2). Rounded down to whole granules by the region,
  /// so give whole granules. A listed location gets its storage when the manager is made.
  std::map<Location, Bytes> budgets;
  /// Which source an action reads that names none, and which devices copy to each other directly (R14, R64).
  CopyRules copies{};
  /// An arrival ends when it is settled, by `settle`, by a plan (R23) or by `close`, however early its copy is complete:
  /// so charges, addresses and compactions of a sequence of plans are those that explain foretells, and do not depend on
  /// how fast a copy was. Without, it also ends as soon as an operation finds its copy complete (R33).
  bool arrivals_end_when_settled = false;
  /// How many transition reports are kept; 0 keeps none (R51).
  std::size_t trace_capacity = 4096;
  /// Gets one line for each thing that went wrong where nothing can be thrown. Must not throw; called without
  /// any lock. Default: a line on stderr.
  std::function<void(const std::string&)> warn;
  /// Ask devices for their free memory in snapshots and transition reports (R28).
  bool observe_devices = false;
};

/// Owns values, and decides nothing: it holds blocks of bytes at locations under byte budgets, moves them
/// when told, and protects what is in use. The rules are residency::State's; this class gives them storage,
/// streams and threads.
///
/// Thread safe. Transitions (everything that moves, adopts, reserves or protects) happen one at a time;
/// releases and lookups never wait for them. While a source loads, every operation but those raises
/// ReentrancyError (R18). Refusals raise the exception of their rule (errors.hpp) and change nothing.
class Manager {
 public:
  /// std::invalid_argument for a budget at a location that is not present, and for peers that the driver's are not
  /// (R64); memory::AllocationError when a budget's region cannot be had.
  explicit Manager(std::shared_ptr<memory::Driver> driver, ManagerOptions options = {});
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  ManagerId manager_id() const;
  memory::Driver& driver() const;

  // Values.
  /// A block to fill and then adopt; charged as reserved until then. Nothing slides it until then.
  Allocation allocate(Location at, Bytes bytes);
  /// Slides what may slide until there is one free piece of so many bytes, so that several blocks of reservations fit
  /// in it one after the other, whichever piece each takes first (R27). Charges and keeps nothing; nothing happens where
  /// protected blocks prevent it. Explain foresees it of a plan with a workspace: for workspace and outputs together.
  void gather(Location at, Bytes bytes);
  /// Takes the block over as a new must-preserve value (R4). On failure the caller keeps the block. The block
  /// must be completely written: any later transition may slide it (R27), so its address holds only while a lease
  /// protects it. A block carved out of a reservation is paid for by it (R38); the specification's storage_bytes must not exceed what the
  /// reservation has left.
  HandleId adopt(Allocation&& block, Location at, const ValueSpec& spec);
  /// A must-preserve value that has a handle and no bytes yet, so that a plan can name what its body produces
  /// (Plan::produce). Gets its bytes by the adopt below, once; until then it is nowhere.
  HandleId announce(const ValueSpec& spec);
  void adopt(Allocation&& block, Location at, HandleId announced);
  /// The same for a block of some other region.
  HandleId adopt(memory::Block&& block, Location at, const ValueSpec& spec);
  HandleId adopt(memory::Block&& block, Location at, const ValueSpec& spec, Reservation& from);
  /// A reconstructible value that is not loaded yet (R5).
  HandleId register_source(const ValueSpec& spec, Source source, Location at);
  /// A reconstructible value that is not there yet and comes by expanding `backing`, a value with a copy
  /// somewhere and no backing of its own (R66). Where it is expanded, its backing is read in place, or a copy of
  /// it is made and charged there until the expansion is complete. UnavailableError where the backing has no copy.
  ///
  /// As long as such a value lives, the last copy of its backing stays, whatever the backing's specification
  /// says. The backing may be discarded once each value that it backs has a copy, which then has to stay.
  HandleId register_backed(const ValueSpec& spec, HandleId backing, Expand expand);
  ValueSpec spec(HandleId value) const;

  // Transitions. A stream only where the transition copies to or from a device, and of that device (R19).
  TransitionReport ensure(HandleId value, Location at, std::optional<Location> from = {},
                          const memory::Stream& stream = {});
  /// An asynchronous ensure: returns while the copy runs (R21). UnavailableError for a pageable end.
  TransitionReport prefetch(HandleId value, Location at, std::optional<Location> from = {},
                            const memory::Stream& stream = {});
  /// Waits until what arrives there has arrived, and ends its protection of both ends (R23). Nothing where it is there
  /// already. UnavailableError where it is not.
  void settle(HandleId value, Location at);
  /// The same for each arrival that the action would take an end from, as a plan does before it.
  void settle_for(const Action& action);
  /// Those of `values` that are not known to have arrived at `at`: an acquire of them makes somebody wait.
  std::vector<HandleId> arriving(std::span<const HandleId> values, Location at) const;
  TransitionReport move(HandleId value, Location to, std::optional<Location> from = {},
                        const memory::Stream& stream = {});
  TransitionReport drop(HandleId value, Location at);
  TransitionReport discard(HandleId value);
  TransitionReport run(const Action& action, const memory::Stream& stream = {});

  // Protection. A cuda lease needs its first consumer stream, a host lease takes none (R30). For what is arriving, a
  // consumer stream waits on the device, and a host lease blocks until it is there (R22).
  Lease acquire(std::span<const HandleId> values, Location at, const memory::Stream& consumer = {});
  Lease acquire(std::initializer_list<HandleId> values, Location at, const memory::Stream& consumer = {});
  Hold hold(std::span<const HandleId> values, Location at);
  Hold hold(std::initializer_list<HandleId> values, Location at);
  Reservation reserve(Location at, Bytes bytes, const std::string& label);

  // Plans.
  Explanation explain(const Plan& plan, std::optional<std::uint64_t> expected_version = {},
                      Detail detail = Detail::full) const;
  Scope scope(Plan plan, TransferStreams streams = {}, std::optional<std::uint64_t> expected_version = {});
  /// Preflights and runs one raw sequence (R45).
  PlanReport execute_actions(std::span<const Action> actions, const std::string& name,
                             TransferStreams streams = {},
                             std::optional<std::uint64_t> expected_version = {});

  // Observation.
  std::uint64_t state_version() const;
  /// A copy to plan on, after reaping, with the version that it had.
  State planning_state();
  Snapshot snapshot();
  std::vector<TransitionReport> trace() const;
  void clear_trace();

  /// The manager's own stream for copies of a cuda location; made at first use.
  memory::Stream transfer_stream(Location device);

  /// Ends the manager (R63): waits for pending consumers, refuses (InUseError) while leases, holds or
  /// reservations remain, then frees everything. `force` synchronizes the devices and ends leaked tokens.
  /// Closing twice is fine.
  void close(bool wait = true, bool force = false);
  bool closed() const;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace fheres::residency
