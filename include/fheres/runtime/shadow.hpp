#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// The clear text of every value that a workload holds or produces, by executing the same operations on plain numbers.
/// Real slots; rotations go from slot i to slot i + steps. Opaque values and keys have none,
/// nor have values that a file holds and no message tells of, nor what is computed from them.
class Shadow {
 public:
  explicit Shadow(const workload::Workload& workload);
  /// Executes the stage's body; the stage's outputs get their slots. Stages in order.
  void run(const workload::Stage& stage);
  /// One number a slot; empty for a value without clear text.
  const std::vector<double>& slots(workload::ValueIndex value) const { return values_[value]; }

 private:
  const workload::Workload& workload_;
  std::vector<std::vector<double>> values_;
};

/// The largest difference over the slots that are expected, which `actual` must have; not-a-number where one of them is.
double largest_error(std::span<const double> actual, std::span<const double> expected);
/// What the document expects of an output, in its first slots: as many as it says, or all of them.
std::vector<double> expected_slots(const workload::Expectation& expectation, std::uint64_t slots);

}  // namespace fheres::runtime
