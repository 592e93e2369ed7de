#pragma once

#include <span>

#include "core.hpp"

namespace fheres::residency {

/// Executes a plan's parts one after the other and reports the committed prefix. Needs the transition lock. A failure
/// of an action or reservation becomes a PlanExecutionError with that prefix (R42).
class PlanRun {
 public:
  PlanRun(Core& core, const TransferStreams& streams, PlanReport& report)
      : core_(core), streams_(streams), report_(report) {}

  /// StaleStateError, PlanError, or the explanation of a feasible plan (R41, R49). Starts the report.
  Explanation preflight(const Plan& plan, std::optional<std::uint64_t> expected);
  Explanation preflight(const std::string& name, std::span<const Action> actions,
                        std::optional<std::uint64_t> expected);

  void actions(Phase phase, std::span<const Action> list);
  Reservation reserve(std::size_t index, const ReservationSpec& spec);
  void finish();

 private:
  State begin(const std::string& name, std::optional<std::uint64_t> expected);
  void accept(const Explanation& told) const;
  [[noreturn]] void fail(Phase phase, std::size_t index, std::optional<Action> action,
                         std::optional<ReservationSpec> reservation);

  Core& core_;
  const TransferStreams& streams_;
  PlanReport& report_;
};

}  // namespace fheres::residency
