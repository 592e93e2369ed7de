#pragma once

#include <optional>
#include <vector>

#include <fheres/workload/machine.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::workload {

/// How long each operation of a stage's body takes on the machine, by the levels of what it reads. A circuit takes what
/// its steps take, a linear transform as much as its rotations, each at the price of one in a rotate_many, and a product a
/// diagonal; a key switch in groups of output limbs, all but a transform's, 4% longer for each group: an estimate.
/// Nothing for an operation that the machine does not know with these parameters.
std::vector<std::optional<double>> body_times(const World& world, const Stage& stage, const Machine& machine);

/// What a Machine calls an operation: its name, with `+key` behind it where a key relinearizes.
std::string timed_name(scheme::Operation operation, bool has_key);

}  // namespace fheres::workload
