#pragma once

#include <cstddef>
#include <string>

#include <fheres/workload/place.hpp>

namespace fheres::verify {

/// Where in a Program something happens, in run-time order (R39); the last two are about the Program as a
/// whole.
enum class Phase {
  placement,
  reclaim,
  reserve,
  enter,
  prefetch,
  body,
  produce,
  exit,
  release,
  evidence,
  workload
};
const char* name(Phase phase);

/// Something that a Program does and may not do, or says and is not so.
struct Violation {
  /// Of the residency rules, 1 to 66. 0: the plan's own evidence, or the workload that it was compiled from,
  /// says otherwise; `phase` tells which.
  int rule = 0;
  std::string stage;  // empty: initial placement, or the plan as a whole
  Phase phase = Phase::placement;
  std::size_t index = 0;  // within the phase of the stage
  workload::Place
      place;  // the document's line; unknown of evidence, and of a Program that came from no document
  std::string message;  // one lower-case line with the numbers, without stage and phase
};

/// `R24`, `evidence`, `workload`.
std::string code(const Violation& violation);
/// `stage tile-0, enter[1]: ensure w0 at cuda:0: ...`.
std::string sentence(const Violation& violation);

}  // namespace fheres::verify
