#pragma once

#include <fheres/scheme/parameters.hpp>
#include <fheres/scheme/presets.hpp>

/// Set F of the design's tables: N = 2^14, scale 2^40, 7 levels.
inline const fheres::scheme::Parameters& set_f() {
  using namespace fheres::scheme;
  static const Parameters f = Parameters::make(*find_preset("slots8192-scale40-levels7"));
  return f;
}
