#include <fmt/format.h>

#include <fheres/memory/cuda.hpp>

#include "memory/cuda/check.hpp"

namespace fheres::memory {
namespace {

// Devices are numbered as the runtime numbers them, so the first unusable one ends the count.
struct Found {
  int usable = 0;
  std::string why;
};

Found look() {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess) {
    (void)cudaGetLastError();
    return {0, fmt::format("no CUDA device: {}", cudaGetErrorString(status))};
  }
  for (int device = 0; device < devices; ++device) {
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
      (void)cudaGetLastError();
      return {device, fmt::format("cuda:{} does not answer", device)};
    }
    if (const int capability = 10 * major + minor; capability < FHERES_CUDA_OLDEST_ARCHITECTURE) {
      return {device, fmt::format("cuda:{} has compute capability {}.{}, this build needs at least {}.{}",
                                  device, major, minor, FHERES_CUDA_OLDEST_ARCHITECTURE / 10,
                                  FHERES_CUDA_OLDEST_ARCHITECTURE % 10)};
    }
  }
  return {devices, fmt::format("{} device{}", devices, devices == 1 ? "" : "s")};
}

}  // namespace

int cuda_device_count() noexcept {
  try {
    return look().usable;
  } catch (...) {
    return 0;
  }
}

std::string cuda_status() { return look().why; }

}  // namespace fheres::memory
