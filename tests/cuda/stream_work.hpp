#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <fheres/memory/driver.hpp>

#ifdef __CUDACC__
#define FHERES_TEST_BOTH __host__ __device__
#else
#define FHERES_TEST_BOTH
#endif

namespace fheres::test {

/// The i-th word of what a block with these contents holds, and the sum that a reader makes of them: every word counts
/// at its own place.
FHERES_TEST_BOTH inline std::uint64_t word_of(std::uint64_t contents, std::uint64_t i) {
  std::uint64_t x = contents + (i + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
FHERES_TEST_BOTH inline std::uint64_t term_of(std::uint64_t word, std::uint64_t i) {
  return word * (2 * i + 1);
}

inline std::uint64_t sum_of_contents(std::uint64_t contents, Bytes bytes) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < bytes / 8; ++i) sum += term_of(word_of(contents, i), i);
  return sum;
}

/// In pinned memory, where a reader can see it: 0 is closed.
using Gate = std::uint32_t;

/// In pinned memory, written before the reader ends.
struct ReaderResult {
  std::uint64_t sum = 0;
  std::uint64_t gave_up = 0;  // 1 where the gate did not open in time
};

/// A slow reader: waits for the gate, reads the first half, idles, reads the second half.
struct Reading {
  const std::byte* data = nullptr;
  Bytes bytes = 0;  // whole words
  const Gate* gate = nullptr;
  std::uint64_t patience_ns = 0;  // that it waits for the gate at most
  std::uint64_t idle_ns = 0;
  ReaderResult* result = nullptr;
};

/// What can be queued on a stream: kernels on a real device, functions of the host on an emulated one.
struct StreamWork {
  std::function<void(const memory::Stream&, const Reading&)> read;
  std::function<void(const memory::Stream&, std::byte* data, Bytes bytes, std::uint64_t contents)> fill;
};

StreamWork host_work(memory::Driver& driver);
StreamWork cuda_work(memory::Driver& driver);

}  // namespace fheres::test
