#pragma once

#include <cuda_runtime_api.h>

#include <fheres/memory/driver.hpp>

namespace fheres::memory::cuda {

/// Throws DeviceError{call} with the error's text and place unless `status` is cudaSuccess. Clears the
/// runtime's last error, so that the next launch is not blamed for it. Used through FHERES_CUDA.
void check(cudaError_t status, const char* call, const char* file, int line);

/// What the runtime calls a device of the cuda driver. std::invalid_argument for another driver.
int ordinal(const Driver& driver, Location device);

/// Makes a device current for a scope, and the one before it current again. Restoring never throws.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace fheres::memory::cuda

/// Every call of the runtime goes through here.
#define FHERES_CUDA(call) ::fheres::memory::cuda::check((call), #call, __FILE__, __LINE__)
