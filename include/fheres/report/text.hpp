#pragma once

#include <string>

#include <fheres/control/decision.hpp>
#include <fheres/report/json.hpp>
#include <fheres/runtime/run_report.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::report {

// What people read on a terminal. Every text ends with a newline; its last line says it all.

/// Names of a rehearsal's values.
NameOf names_of(const workload::Rehearsal& rehearsal);
NameOf names_of(const runtime::RunReport& report);

/// Every action of every stage, every peak, and the answer. `brief` leaves out the actions.
std::string rehearsal_text(const workload::Rehearsal& rehearsal, bool brief = false);
/// Victims with reasons, the plan's steps, peaks: one per stage that the controller decided.
std::string decisions_text(const workload::Rehearsal& rehearsal);
/// Transitions, peaks predicted and measured, checks.
std::string run_text(const runtime::RunReport& report);

/// The last line alone: `feasible: peak 37 of 37 MiB at cuda:0 (stage s), 21 MiB moved`.
std::string verdict(const workload::Rehearsal& rehearsal);
std::string verdict(const runtime::RunReport& report);

}  // namespace fheres::report
