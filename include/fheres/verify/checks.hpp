#pragma once

#include <vector>

#include <fheres/verify/replay.hpp>

namespace fheres::verify {

/// Everything that there is to say of a Program.
struct Verification {
  Replay replay;
  std::vector<Violation> violations;  // of the replay, then of the evidence, then of the workload
  bool has_evidence = false;          // the plan brings some
  bool has_workload = false;          // it was held against one

  bool sound() const { return violations.empty(); }
};

/// Replays the Program and holds it against the workload that it was made from, where there is one: the same
/// values (bytes, places, replica modes, what makes them again), the same stages in order, in each what the
/// body needs is there, its reservations are as large, the same outputs come out of them, and the same values
/// are released. Budgets are the Program's own. Whether the file is the same one is for who read it to say.
/// Pure.
Verification check(const workload::Program& program, const workload::Workload* workload = nullptr);

}  // namespace fheres::verify
