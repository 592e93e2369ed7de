// The build has no CUDA compiler: the same functions, which say so.
#include <fheres/ring/cuda.hpp>

namespace fheres::ring {

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Basis>,
                                                 std::shared_ptr<memory::Driver>, memory::Location,
                                                 const CudaBackendOptions&) {
  throw memory::DeviceError("make_cuda_backend", "built without CUDA");
}

std::shared_ptr<const Backend> make_cuda_backend(const scheme::Parameters&, std::shared_ptr<memory::Driver>,
                                                 memory::Location, const CudaBackendOptions&) {
  throw memory::DeviceError("make_cuda_backend", "built without CUDA");
}

}  // namespace fheres::ring
