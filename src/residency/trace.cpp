#include <fmt/format.h>

#include <fheres/residency/trace.hpp>

namespace fheres::residency {
namespace {

std::string text(Phase phase, std::size_t index, const std::string& plan, const std::exception_ptr& cause) {
  std::string why = "unknown exception";
  try {
    if (cause) std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "an exception of unknown type";
  }
  return fmt::format("plan '{}' failed at {}[{}]: {}", plan, name(phase), index, why);
}

}  // namespace

PlanExecutionError::PlanExecutionError(Phase failed_phase, std::size_t failed_index,
                                       std::optional<Action> failed_action,
                                       std::optional<ReservationSpec> failed_reservation, PlanReport partial,
                                       std::exception_ptr why)
    : ResidencyError("residency/plan-execution", text(failed_phase, failed_index, partial.plan, why)),
      phase(failed_phase),
      index(failed_index),
      action(failed_action),
      reservation(std::move(failed_reservation)),
      report(std::move(partial)),
      cause(std::move(why)) {}

}  // namespace fheres::residency
