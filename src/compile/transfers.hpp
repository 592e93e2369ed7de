#pragma once

#include <vector>

#include <fheres/workload/program.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::compile {

/// Which value of a Program a handle of its rehearsal is.
class ValueTable {
 public:
  ValueTable(const workload::Program& program, const workload::Rehearsal& rehearsal);
  workload::ValueIndex of(residency::HandleId handle) const { return indices_[handle.serial]; }

 private:
  std::vector<workload::ValueIndex> indices_;  // by serial
};

}  // namespace fheres::compile
