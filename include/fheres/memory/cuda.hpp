#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fheres/memory/driver.hpp>

namespace fheres::memory {

/// How many devices this build can use: cuda:0 up to the first one that is too old for the machine code built
/// in. 0 without a device, without a vendor's driver, and in a build without CUDA; never throws.
int cuda_device_count() noexcept;

/// One line for people that says why cuda_device_count() is what it is: `1 device`, `built without CUDA`,
/// `no CUDA device: CUDA driver version is insufficient for CUDA runtime version`.
std::string cuda_status();

struct CudaOptions {
  /// The driver's cuda:i is the machine's device devices[i]; where none are named, device i. One may be named twice,
  /// and then plays two devices.
  std::vector<int> devices{};
  /// As Driver::one_allocation_per_block, for device memory. That then comes from the vendor's stream-ordered allocator,
  /// which waits for nobody when memory is given back: a checker of stream order sees every use that no wait of the
  /// host, and no event, puts before the end of its block. Pinned memory stays in one piece: giving some back makes the
  /// vendor wait for the whole device, which would hide what is looked for.
  bool one_allocation_per_block = false;
};

/// The driver of the real machine: one piece of device memory a region, pinned memory from the vendor, streams
/// that never wait for the default stream. Contract: memory/driver.hpp.
/// Throws DeviceError with cuda_status() when there is no device that it can use, or no such one.
std::shared_ptr<Driver> make_cuda_driver(const CudaOptions& options = {});

}  // namespace fheres::memory
