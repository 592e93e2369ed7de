#pragma once

namespace fheres::runtime {

/// The run was asked to stop at an operation boundary.
struct Interrupted {};

}  // namespace fheres::runtime
