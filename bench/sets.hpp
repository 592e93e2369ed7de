#pragma once

#include <string_view>

#include <fheres/scheme/parameters.hpp>

namespace fheres::bench {

/// Parameters by name: a preset, or one of the sets that engines are compared at.
///   F    slots8192-scale40-levels7
///   B    N = 2^15, Q 50 + 17 x 40, P 3 x 45, digits of 3 limbs
///   C    N = 2^16, Q 50 + 26 x 40, P 7 x 60, digits of 7
///   D    N = 2^16, Q 46 + 33 x 40, P 8 x 46, digits of 9: the totals of a peer's 24 + 6 limbs
///   S16  slots16384-scale40-levels16
///   S34  slots32768-scale40-levels34
/// Throws std::invalid_argument for any other name.
scheme::ParametersLiteral find_set(std::string_view name);

}  // namespace fheres::bench
