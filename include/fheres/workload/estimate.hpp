#pragma once

#include <optional>
#include <vector>

#include <fheres/scheme/operation_error.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::workload {

/// What is known of the slots and errors of each ciphertext and plaintext of a workload, by ValueIndex, by walking its
/// stages (scheme::estimate). A message that is not known counts as the largest that fits. Keys and opaque bytes have
/// none. std::invalid_argument for a workload without parameters.
std::vector<std::optional<scheme::Estimate>> estimates(const Workload& workload);

}  // namespace fheres::workload
