#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/scheme/parameters.hpp>

namespace fheres::scheme {

/// A named parameter set. Names that start with `test-` are insecure and say so (`security: none`).
struct Preset {
  std::string name;
  ParametersLiteral literal;
};

/// All presets, test ones first, then by log_n and scale: `slots8192-scale40-levels7` and so on (design, page 05); then
/// those whose names end in `-fast`, of the same depths, whose primes have at most kFastPrimeBits (scheme/advice).
std::span<const Preset> presets();
std::optional<ParametersLiteral> find_preset(std::string_view name);

}  // namespace fheres::scheme
