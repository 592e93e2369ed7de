#pragma once

#include <chrono>
#include <cstdint>

namespace fheres {

/// Nanoseconds of the process's monotonic clock. For reports and traces only: no decision reads a clock.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace fheres
