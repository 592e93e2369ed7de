#pragma once

#include <vector>

#include "reader.hpp"

namespace fheres::documents {

/// An entry of a stage's body: `rotated: {rotate: x, key: rot1}`, or `{rotate_many: x, results: {x1: rot1}}`, which
/// becomes a draft for each result.
void read_operation(Context& context, const Node& node, std::vector<workload::OperationDraft>& body);

}  // namespace fheres::documents
