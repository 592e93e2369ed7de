#pragma once

#include <optional>
#include <vector>

#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::workload {

/// A workload that leaves nothing to a policy, or why a Program does not plan it.
struct Planned {
  std::optional<Workload> workload;
  std::vector<Problem> problems;  // at the Program's lines; FHR0522, FHR0523
};

/// The workload in the variants that the Program names, with each stage placed by the Program's stage of the same name: its actions, reservations, outputs and
/// releases, under the Program's budgets and peers. The Program is one of this workload where it has the same values
/// (names, bytes, places, replica modes, what they are made or expanded from), the same stages in the same order, the
/// same outputs, and reservations that hold each body. Says nothing about whether it fits: rehearse says that.
Planned follow(const Workload& workload, const Program& program);

}  // namespace fheres::workload
