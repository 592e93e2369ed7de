#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <fheres/memory/driver.hpp>
#include <fheres/residency/errors.hpp>
#include <fheres/residency/plan.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {

/// One completed transition (R51).
struct TransitionReport {
  std::uint64_t sequence = 0;  // counts the manager's completed transitions, from 0
  Action action;
  Transition::Work work = Transition::Work::nothing;
  std::string no_op_reason;  // where work is nothing
  std::optional<Location> source;
  std::optional<Location> destination;
  std::optional<HandleId> expanded_from{};  // its backing, which was read at `source` (R66)
  Bytes bytes = 0;                          // copied (of its backing, for an expansion) or loaded
  Bytes temporary_bytes = 0;                // charged meanwhile (R16, R66)
  Bytes compacted = 0;                      // slid inside locations to make one piece of room for it (R27)
  bool asynchronous = false;
  bool arriving = false;  // not known to be complete when this was written; the trace follows it to its end
  std::int64_t start_ns = 0;
  std::int64_t end_ns =
      0;  // asynchronous: when it was known to be complete; while arriving, when it was queued
  std::int64_t queued_ns = 0;      // asynchronous: when the copy was queued and the call returned
  std::int64_t stall_ns = 0;       // that the host waited for it to arrive: host consumers and settle (R22)
  std::uint32_t device_waits = 0;  // consumer streams that were made to wait for it, on the device
  std::optional<memory::DeviceMemory> device_before;  // of the cuda end, where observation is on (R28)
  std::optional<memory::DeviceMemory> device_after;

  bool no_op() const { return work == Transition::Work::nothing; }
};

/// The most that a location was charged, and had allocated, while a scope was open.
struct LocationPeak {
  Location at = Location::pageable_host();
  Bytes charged = 0;    // used + reserved + temporary
  Bytes allocated = 0;  // in its region, in whole granules
  Bytes compacted = 0;  // slid inside the location meanwhile, for actions and for the body's blocks
};

/// One action of a plan that completed.
struct ActionReport {
  Phase phase = Phase::execute;
  std::size_t index = 0;
  TransitionReport transition;
};

/// What a plan, or a raw sequence, did: the committed prefix where it failed (R42).
struct PlanReport {
  std::string plan;
  std::vector<ActionReport> actions;
  std::vector<ReservationSpec> reservations;  // admitted ones, in plan order
  std::vector<LocationPeak> peaks;            // in location order; of the whole scope once it is closed
  std::uint64_t version_before = 0;
  std::uint64_t version_after = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A plan failed while it ran, after a good preflight. What was committed stays (R42). Code
/// `residency/plan-execution`.
class PlanExecutionError : public ResidencyError {
 public:
  PlanExecutionError(Phase failed_phase, std::size_t failed_index, std::optional<Action> failed_action,
                     std::optional<ReservationSpec> failed_reservation, PlanReport partial,
                     std::exception_ptr why);
  Phase phase;
  std::size_t index;  // within the phase
  std::optional<Action> action;
  std::optional<ReservationSpec> reservation;
  PlanReport report;
  std::exception_ptr cause;
};

}  // namespace fheres::residency
