#pragma once

#include <cuda_runtime.h>

#include "memory/cuda/check.hpp"

namespace fheres::ring::cuda {

/// What every kernel does first: waits until all that was queued before is over and visible, and lets the next launch of
/// the stream begin when all blocks have come this far. So the beginning of one kernel overlaps the end of another, and
/// nothing else does: before this returns a kernel may only read its parameters and the tables.
__device__ __forceinline__ void begin_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Threads of a block, and bytes of shared memory that it asks for at launch.
struct BlockSize {
  int threads;
  int shared_bytes = 0;
  BlockSize(int count, int bytes = 0) : threads(count), shared_bytes(bytes) {}
};

/// Queues a kernel that calls begin_kernel, and checks that it was queued. Every launch of this folder goes through
/// here. `name` is what a DeviceError calls it.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, BlockSize block, cudaStream_t stream,
            Arguments... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(block.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(block.shared_bytes);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  constexpr int kWithoutAsking = 48 * 1024;
  if (block.shared_bytes > kWithoutAsking) {
    memory::cuda::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, block.shared_bytes), name,
        __FILE__, __LINE__);
  }
  memory::cuda::check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name,
                      __FILE__, __LINE__);
}

inline dim3 grid_of(int x, int y) { return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)); }

}  // namespace fheres::ring::cuda
