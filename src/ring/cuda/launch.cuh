#pragma once

#include <type_traits>

#include <cuda_runtime.h>

#include "ring/cuda/launch_list.hpp"

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

/// Threads of a block, bytes of shared memory that it asks for at launch, and blocks of a cluster.
struct BlockSize {
  int threads;
  int shared_bytes = 0;
  dim3 cluster = {};
  BlockSize(int count, int bytes = 0) : threads(count), shared_bytes(bytes) {}
  BlockSize in_clusters(dim3 blocks) const {
    BlockSize size = *this;
    size.cluster = blocks;
    return size;
  }
};

/// Queues a kernel that calls begin_kernel, and checks that it was queued (submit). Every launch of this folder goes
/// through here. `name` is what a DeviceError calls it.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, BlockSize block, cudaStream_t stream,
            Arguments... arguments) {
  const LaunchShape shape{
      name, reinterpret_cast<const void*>(kernel), grid, block.threads, block.shared_bytes, block.cluster};
  const auto queue = [&](Parameters... values) {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...));
    // g++ 12 clears the wrong bytes of a structure that ends in padding after an array of structures.
    static_assert(((sizeof(Parameters) <= 256 || std::has_unique_object_representations_v<Parameters>)&&...),
                  "a large parameter of a kernel has to be without padding");
    (__builtin_clear_padding(&values), ...);  // equal arguments are equal bit by bit
    const Argument places[] = {{&values, sizeof(values)}...};
    submit(shape, places, stream);
  };
  queue(static_cast<Parameters>(arguments)...);
}

inline dim3 grid_of(int x, int y) { return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)); }

}  // namespace fheres::ring::cuda
