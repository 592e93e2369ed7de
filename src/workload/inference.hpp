#pragma once

#include <vector>

#include <fheres/workload/model.hpp>

#include "names.hpp"
#include "world.hpp"

namespace fheres::workload {

/// Gives every plaintext and key its level, every result its type and workspace, and every output its specification,
/// along the stages. An operation without operands was reported before and is passed over, and so is what depends on
/// it. Needs parameters.
///
/// A plaintext or key of level `auto` is made at the freshest level where it is used.
/// Returns, by stage, whether every operation of the body has its type.
std::vector<bool> infer_types(WorldCheck& check, std::vector<Stage>& stages, Problems& problems);

}  // namespace fheres::workload
