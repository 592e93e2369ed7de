#pragma once

#include <cstddef>
#include <vector>

#include <fheres/workload/program.hpp>

#include "problem.hpp"

namespace fheres::compile {

/// The workload as a Program without movement: values as opaque bytes, stages with what they reserve, need, carve,
/// produce and release. What every plan of it has in common; pure.
workload::Program skeleton(const Workload& workload);

/// A stage whose arrivals need more room at a location than there is.
struct Shortage {
  std::size_t stage = 0;
  Location at = Location::pageable_host();
  Bytes bytes = 0;
};

struct Routed {
  workload::Program program;
  std::vector<Shortage> shortages;  // in order of stages; at most one for each stage and location
};

/// The program that keeps exactly what `kept` says (by interval): what goes leaves when the last stage before has
/// ended, or before the first one; what is needed comes when its stage is entered, expansions first, because they need
/// room beside themselves. One that has none beside the stage's reservations comes before they are admitted, which lets
/// nothing run meanwhile. Only copies go to the first tier of the policy with room. Whether it holds is for a replay to
/// say: this only adds up charges.
Routed route(const Workload& workload, const Problem& problem, const std::vector<char>& kept);

}  // namespace fheres::compile
