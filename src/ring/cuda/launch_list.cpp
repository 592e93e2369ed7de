#include "ring/cuda/launch_list.hpp"

#include <cstring>
#include <map>
#include <utility>

#include <fheres/base/check.hpp>

#include "memory/cuda/check.hpp"

namespace fheres::ring::cuda {
namespace {

constexpr std::size_t kMostArguments = 16;

thread_local LaunchList* kept = nullptr;  // of the Keeping, until it keeps the device busy
thread_local cudaStream_t kept_stream = nullptr;
thread_local bool keeping = false;

void queue_kernel(const LaunchShape& shape, void** arguments, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = shape.cluster.x * shape.cluster.y * shape.cluster.z > 1 ? 2 : 1;
  memory::cuda::check(cudaLaunchKernelExC(&config, shape.kernel, arguments), shape.name, __FILE__, __LINE__);
}

// A kernel has to be told before it may use so much. Asked once a device and thread: the vendor takes 5 us each time.
void allow_shared(const LaunchShape& shape) {
  constexpr int kWithoutAsking = 48 * 1024;
  if (shape.shared_bytes <= kWithoutAsking) return;
  int device = 0;
  FHERES_CUDA(cudaGetDevice(&device));
  thread_local std::map<std::pair<int, const void*>, int> allowed;
  int& bytes = allowed[{device, shape.kernel}];
  if (bytes >= shape.shared_bytes) return;
  memory::cuda::check(
      cudaFuncSetAttribute(shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes),
      shape.name, __FILE__, __LINE__);
  bytes = shape.shared_bytes;
}

}  // namespace

void LaunchList::clear() {
  threads_ = 0;
  entries_.clear();
  places_.clear();
  words_.clear();
}

void LaunchList::add(const LaunchShape& shape, std::span<const Argument> arguments) {
  FHERES_CHECK(arguments.size() <= kMostArguments);
  entries_.push_back({shape, places_.size(), arguments.size()});
  threads_ +=
      std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z * static_cast<std::uint64_t>(shape.threads);
  for (const Argument& argument : arguments) {
    const std::size_t at = words_.size();
    words_.resize(at + (argument.bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(words_.data() + at, argument.data, argument.bytes);
    places_.push_back(at);
  }
}

void LaunchList::queue(cudaStream_t stream) {
  for (const Entry& entry : entries_) {
    void* pointers[kMostArguments];
    for (std::size_t i = 0; i < entry.count; ++i) pointers[i] = words_.data() + places_[entry.first + i];
    queue_kernel(entry.shape, pointers, stream);
  }
}

void submit(const LaunchShape& shape, std::span<const Argument> arguments, cudaStream_t stream) {
  allow_shared(shape);
  if (kept != nullptr) {
    FHERES_CHECK(stream == kept_stream);
    kept->add(shape, arguments);
    if (!kept->keeps_device_busy()) return;
    LaunchList& all = *std::exchange(kept, nullptr);
    all.queue(stream);
    all.clear();
    return;
  }
  FHERES_CHECK(arguments.size() <= kMostArguments);
  void* pointers[kMostArguments];
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers[i] = const_cast<void*>(arguments[i].data);
  queue_kernel(shape, pointers, stream);
}

Keeping::Keeping(LaunchList& list, cudaStream_t stream) {
  FHERES_CHECK(!keeping);
  list.clear();
  kept = &list;
  kept_stream = stream;
  keeping = true;
}

Keeping::~Keeping() {
  kept = nullptr;
  keeping = false;
}

bool Keeping::active() { return keeping; }

}  // namespace fheres::ring::cuda
