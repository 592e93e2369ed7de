// Kernels that are slow on purpose, for tests of what protects a block from its next owner.
#include <cuda_runtime.h>

#include "cuda/stream_work.hpp"
#include "memory/cuda/check.hpp"

namespace fheres::test {
namespace {

constexpr int kThreads = 256;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// One block. Every thread waits for the first one, and reads words of both halves.
__global__ void __launch_bounds__(kThreads) read_slowly(Reading reading) {
  __shared__ unsigned long long total;
  const auto* words = reinterpret_cast<const volatile std::uint64_t*>(reading.data);
  const std::uint64_t count = reading.bytes / 8;
  if (threadIdx.x == 0) {
    total = 0;
    const std::uint64_t begun = nanoseconds();
    const volatile Gate* gate = reading.gate;
    std::uint64_t gave_up = 0;
    while (*gate == 0 && gave_up == 0) {
      if (nanoseconds() - begun > reading.patience_ns) gave_up = 1;
    }
    reading.result->gave_up = gave_up;
  }
  __syncthreads();
  std::uint64_t sum = 0;
  for (std::uint64_t i = threadIdx.x; i < count / 2; i += kThreads) sum += term_of(words[i], i);
  if (threadIdx.x == 0) {
    const std::uint64_t begun = nanoseconds();
    while (nanoseconds() - begun < reading.idle_ns) {
    }
  }
  __syncthreads();
  for (std::uint64_t i = count / 2 + threadIdx.x; i < count; i += kThreads) sum += term_of(words[i], i);
  atomicAdd(&total, static_cast<unsigned long long>(sum));
  __syncthreads();
  if (threadIdx.x == 0) reading.result->sum = total;
}

__global__ void __launch_bounds__(kThreads)
    fill_words(std::uint64_t* words, std::uint64_t count, std::uint64_t contents) {
  for (std::uint64_t i = blockIdx.x * kThreads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * kThreads)
    words[i] = word_of(contents, i);
}

cudaStream_t stream_of(memory::Driver& driver, const memory::Stream& stream) {
  return static_cast<cudaStream_t>(driver.native(stream));
}

}  // namespace

StreamWork cuda_work(memory::Driver& driver) {
  StreamWork work;
  work.read = [&driver](const memory::Stream& stream, const Reading& reading) {
    const memory::cuda::DeviceGuard guard(memory::cuda::ordinal(driver, stream.device()));
    read_slowly<<<1, kThreads, 0, stream_of(driver, stream)>>>(reading);
    FHERES_CUDA(cudaGetLastError());
  };
  work.fill = [&driver](const memory::Stream& stream, std::byte* data, Bytes bytes, std::uint64_t contents) {
    const memory::cuda::DeviceGuard guard(memory::cuda::ordinal(driver, stream.device()));
    fill_words<<<64, kThreads, 0, stream_of(driver, stream)>>>(reinterpret_cast<std::uint64_t*>(data),
                                                               bytes / 8, contents);
    FHERES_CUDA(cudaGetLastError());
  };
  return work;
}

}  // namespace fheres::test
