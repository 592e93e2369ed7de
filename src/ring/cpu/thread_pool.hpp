#pragma once

#include <cstddef>
#include <functional>

namespace fheres::ring::cpu {

/// Calls body(0) .. body(count - 1), in any order, on the shared pool and the calling thread; returns when
/// all are done. Thread safe; body must not throw or call this again.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace fheres::ring::cpu
