#pragma once

#include <string>

namespace fheres::cli {

inline constexpr const char* kVersion = FHERES_VERSION;

/// `fheres 0.1.0 (cuda for sm_90; emulated)`.
std::string version_text();

}  // namespace fheres::cli
