#include "memory/cuda/check.hpp"

#include <string_view>

#include <fmt/format.h>

#include <fheres/memory/driver.hpp>

namespace fheres::memory::cuda {

void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string_view text(call);
  const std::string_view path(file);
  const std::size_t slash = path.rfind('/');
  throw DeviceError(std::string(text.substr(0, text.find('('))),
                    fmt::format("{} ({}) at {}:{}", cudaGetErrorString(status), cudaGetErrorName(status),
                                slash == std::string_view::npos ? path : path.substr(slash + 1), line));
}

DeviceGuard::DeviceGuard(int device) {
  FHERES_CUDA(cudaGetDevice(&before_));
  if (before_ == device) return;
  FHERES_CUDA(cudaSetDevice(device));
  changed_ = true;
}

DeviceGuard::~DeviceGuard() {
  if (changed_) (void)cudaSetDevice(before_);
}

}  // namespace fheres::memory::cuda
