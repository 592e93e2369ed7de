#pragma once

#include "ring/cuda/array.hpp"

// Blocks that work as one and read each other's shared memory. Only where DeviceShape::clusters says so.
namespace fheres::ring::cuda {

/// Every thread of the cluster waits until all have come here; what they wrote before is seen after.
__device__ __forceinline__ void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
#endif
}

/// A word of another block's shared memory, which stands there where `own` stands here.
__device__ __forceinline__ u64 read_other(const u64* own, unsigned block) {
  u64 word = 0;
#if __CUDA_ARCH__ >= 900
  const auto here = static_cast<unsigned>(__cvta_generic_to_shared(own));
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(word) : "r"(there) : "memory");
#endif
  return word;
}

}  // namespace fheres::ring::cuda
