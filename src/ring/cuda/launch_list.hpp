#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

namespace fheres::ring::cuda {

/// What decides how a kernel is launched, without its arguments.
struct LaunchShape {
  const char* name = "";  // what a DeviceError calls it
  const void* kernel = nullptr;
  dim3 grid;
  int threads = 0;
  int shared_bytes = 0;
  dim3 cluster;  // blocks of a cluster
  friend bool operator==(const LaunchShape& a, const LaunchShape& b) {
    return a.kernel == b.kernel && a.grid.x == b.grid.x && a.grid.y == b.grid.y && a.grid.z == b.grid.z &&
           a.threads == b.threads && a.shared_bytes == b.shared_bytes && a.cluster.x == b.cluster.x &&
           a.cluster.y == b.cluster.y && a.cluster.z == b.cluster.z;
  }
};

/// A kernel's argument: where it stands, and its size. Padding is zero.
struct Argument {
  const void* data;
  std::size_t bytes;
};

/// Kernels with copies of their arguments, in the order in which they are to run.
class LaunchList {
 public:
  struct Entry {
    LaunchShape shape;
    std::size_t first = 0;  // of its arguments' places
    std::size_t count = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  void clear();
  void add(const LaunchShape& shape, std::span<const Argument> arguments);
  const std::vector<Entry>& entries() const { return entries_; }
  /// The bits of all arguments.
  std::span<const std::uint64_t> words() const { return words_; }
  /// The same kernels with the same arguments, bit by bit.
  friend bool operator==(const LaunchList& a, const LaunchList& b) {
    return a.entries_ == b.entries_ && a.places_ == b.places_ && a.words_ == b.words_;
  }

  /// Queues all kernels on a stream: each may begin while the one before ends (begin_kernel).
  void queue(cudaStream_t stream);
  /// Whether the device is busy with them for longer than launching them takes, and will be with more of the kind: a graph
  /// of them saves nothing, and keeping them until the last one is known only lets the device wait.
  bool keeps_device_busy() const {
    return entries_.size() >= kMany && threads_ / entries_.size() >= kThreadsOfLongKernel;
  }

 private:
  // Half of what an H200 can have resident: such kernels take some 7 us, a launch 3 to 5, and twice that while copies fill the
  // bus.
  static constexpr std::uint64_t kThreadsOfLongKernel = 1 << 17;
  static constexpr std::size_t kMany = 48;

  std::uint64_t threads_ = 0;  // of all
  std::vector<Entry> entries_;
  std::vector<std::size_t>
      places_;  // of each argument, in words; no argument needs more than a word's alignment to copy
  std::vector<std::uint64_t> words_;
};

/// Queues a kernel on `stream`, or adds it to the list that this thread keeps (Keeping).
void submit(const LaunchShape& shape, std::span<const Argument> arguments, cudaStream_t stream);

/// While it lives, this thread's launches on one stream are kept in a list and not queued: until the list keeps the device
/// busy, when it is queued and left empty, and what follows is queued as it comes.
class Keeping {
 public:
  Keeping(LaunchList& list, cudaStream_t stream);
  ~Keeping();
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  /// Whether this thread has one.
  static bool active();
};

}  // namespace fheres::ring::cuda
