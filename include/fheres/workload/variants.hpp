#pragma once

#include <optional>
#include <vector>

#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::workload {

/// The workload with these variants: types, bytes, workspaces and reservations follow. Its locations, peers, machine and
/// policy stay as they are now; all else is as its document says. std::invalid_argument for a selection that does not
/// answer its questions. Pure.
Workload select(const Workload& workload, const Selection& selection);

/// The workload with the variants that a Program of it names (FHR0523 at the Program's lines for what is not there to
/// choose); the first ones where it names none.
struct Selected {
  std::optional<Workload> workload;
  std::vector<Problem> problems;
};
Selected select(const Workload& workload, const Program& program);

}  // namespace fheres::workload
