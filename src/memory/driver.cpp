#include <fmt/format.h>

#include <fheres/memory/driver.hpp>

namespace fheres::memory {

AllocationError::AllocationError(Location where, Bytes requested_bytes, const std::string& detail)
    : Error("memory/allocation", fmt::format("{} has no room for {}: {}", where.name(),
                                             format_exact_bytes(requested_bytes), detail)),
      at(where),
      requested(requested_bytes) {}

DeviceError::DeviceError(std::string failed_call, const std::string& detail)
    : Error("memory/device", fmt::format("{} failed: {}", failed_call, detail)),
      call(std::move(failed_call)) {}

}  // namespace fheres::memory
