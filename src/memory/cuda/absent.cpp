// The build has no CUDA compiler: the same functions, which say so.
#include <fheres/memory/cuda.hpp>

namespace fheres::memory {

int cuda_device_count() noexcept { return 0; }

std::string cuda_status() { return "built without CUDA"; }

std::shared_ptr<Driver> make_cuda_driver(const CudaOptions&) {
  throw DeviceError("make_cuda_driver", cuda_status());
}

}  // namespace fheres::memory
