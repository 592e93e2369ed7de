#pragma once

#include <memory>

#include <fheres/memory/driver.hpp>
#include <fheres/ring/backend.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::ring {

struct CudaBackendOptions {
  /// How many CUDA graphs queue_as_one keeps, 0 for none: then every kernel is a launch of its own. A graph is one
  /// operation on one stream with operands and workspace in the same places: the first time it is queued launch by launch,
  /// the second time captured, and from then on replayed. The vendor's runtime takes some kilobytes a kernel for it,
  /// outside every budget. The least recently used makes room for another once it has long not been used.
  int graphs = 256;
};

/// The back end of one CUDA device, for N = 2^10 .. 2^17. Its operations queue kernels on the stream that is passed
/// in, which must be one of `device`, and allocate nothing. The tables (Backend::table_bytes) are allocated from the
/// driver here, outside every budget, and freed with the object: after the streams that use it have passed.
/// Throws std::invalid_argument for another N, location or a negative number of graphs, memory::AllocationError without room for the tables,
/// memory::DeviceError when the device fails, and always in a build without CUDA.
std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Basis> basis,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device,
                                                 const CudaBackendOptions& options = {});
std::shared_ptr<const Backend> make_cuda_backend(const scheme::Parameters& parameters,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device,
                                                 const CudaBackendOptions& options = {});

}  // namespace fheres::ring
