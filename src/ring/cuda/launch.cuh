#pragma once

#include <cuda_runtime.h>

#include "memory/cuda/check.hpp"

namespace fheres::ring::cuda {

/// Queues a kernel and checks that it was queued. Every launch of this folder goes through here. `name` is what a
/// DeviceError calls it.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<grid, static_cast<unsigned>(threads), 0, stream>>>(arguments...);
  memory::cuda::check(cudaGetLastError(), name, __FILE__, __LINE__);
}

inline dim3 grid_of(int x, int y) { return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)); }

}  // namespace fheres::ring::cuda
