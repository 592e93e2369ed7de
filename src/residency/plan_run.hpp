#pragma once

#include <span>

#include "residency/core.hpp"

namespace fheres::residency {

/// Executes a plan's parts one after the other and reports the committed prefix. Needs the transition lock. A
/// failure of an action or reservation becomes a PlanExecutionError with that prefix (R42).
class PlanRun {
 public:
  PlanRun(Core& core, const TransferStreams& streams, PlanReport& report)
      : core_(core), streams_(streams), report_(report) {}

  /// Starts the report and explains the plan, with holders where it is infeasible. StaleStateError (R49).
  Explanation preflight(const Plan& plan, std::optional<std::uint64_t> expected);
  Explanation preflight(const std::string& name, std::span<const Action> actions,
                        std::optional<std::uint64_t> expected);
  /// PlanError unless it is feasible (R41); std::invalid_argument for a stream that an action cannot use
  /// (R46).
  void accept(const Explanation& told) const;

  void actions(Phase phase, std::span<const Action> list);
  Reservation reserve(std::size_t index, const ReservationSpec& spec);
  void finish();
  /// Throws the PlanExecutionError of the exception that is being handled.
  [[noreturn]] void fail(Phase phase, std::size_t index, std::optional<Action> action,
                         std::optional<ReservationSpec> reservation);

 private:
  template <class Simulate>
  Explanation explain(const std::string& name, std::vector<HandleId> values,
                      std::span<const ValuePlace> reads, std::optional<std::uint64_t> expected,
                      Simulate simulate);

  Core& core_;
  const TransferStreams& streams_;
  PlanReport& report_;
};

}  // namespace fheres::residency
