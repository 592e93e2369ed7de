#include "features.hpp"

#include <fmt/format.h>

namespace fheres::cli {

std::string version_text() {
  const std::string architectures = FHERES_CUDA_BUILT;
  return fmt::format("fheres {} ({})", kVersion,
                     architectures.empty() ? "emulated device only, built without CUDA"
                                           : fmt::format("CUDA for sm_{}, emulated device", architectures));
}

}  // namespace fheres::cli
