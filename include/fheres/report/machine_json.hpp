#pragma once

#include <string>

#include <fheres/report/json.hpp>
#include <fheres/workload/machine.hpp>

namespace fheres::report {

/// `fheres/machine/v1`: bandwidths in bytes per second, times in ns, all of it measured and so under `observed`.
Json machine_json(const workload::Machine& machine);
/// Bandwidth by direction and size, operations by level.
std::string machine_text(const workload::Machine& machine);

}  // namespace fheres::report
