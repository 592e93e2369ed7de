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

/// All presets, ordered by log_n, then scale. `slots8192-scale40-levels7` and so on (design, page 05).
std::span<const Preset> presets();
std::optional<ParametersLiteral> find_preset(std::string_view name);

}  // namespace fheres::scheme
