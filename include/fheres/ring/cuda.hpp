#pragma once

#include <memory>

#include <fheres/memory/driver.hpp>
#include <fheres/ring/backend.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::ring {

/// The back end of one CUDA device, for N = 2^10 .. 2^17. Its operations queue kernels on the stream that is passed
/// in, which must be one of `device`, and allocate nothing. The tables (Backend::table_bytes) are allocated from the
/// driver here, outside every budget, and freed with the object: after the streams that use it have passed.
/// Throws std::invalid_argument for another N or location, memory::AllocationError without room for the tables,
/// memory::DeviceError when the device fails, and always in a build without CUDA.
std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Basis> basis,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device);
std::shared_ptr<const Backend> make_cuda_backend(const scheme::Parameters& parameters,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device);

}  // namespace fheres::ring
