#include "ring/cuda/graph_cache.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "memory/cuda/check.hpp"

namespace fheres::ring::cuda {
namespace {

constexpr std::size_t kSeenPerGraph = 4;

bool somebody_captures(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  FHERES_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

GraphCache::~GraphCache() {
  for (const Entry& entry : captured_) (void)cudaGraphExecDestroy(entry.graph);
  if (capturing_ != nullptr) (void)cudaStreamDestroy(capturing_);
}

std::size_t GraphCache::hash_of(const LaunchList& list, cudaStream_t stream) {
  std::size_t hash = std::hash<const void*>()(stream);
  const auto mix = [&hash](std::size_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  };
  for (const LaunchList::Entry& entry : list.entries()) {
    mix(reinterpret_cast<std::size_t>(entry.shape.kernel));
    mix(static_cast<std::size_t>(entry.shape.grid.y) << 32 | entry.shape.grid.x);
  }
  for (const std::uint64_t word : list.words()) mix(word);
  return hash;
}

GraphCache::ByHash::iterator GraphCache::find(const Entry& like) {
  const auto [begin, end] = by_hash_.equal_range(like.hash);
  const auto found = std::find_if(begin, end, [&](const auto& candidate) {
    return candidate.second->stream == like.stream && candidate.second->list == like.list;
  });
  return found == end ? by_hash_.end() : found;
}

void GraphCache::erase(Entries& from, Entries::iterator entry) {
  by_hash_.erase(find(*entry));
  if (entry->graph != nullptr) (void)cudaGraphExecDestroy(entry->graph);
  from.erase(entry);
}

void GraphCache::remember(Entry entry) {
  if (seen_.size() >= kSeenPerGraph * bound_) erase(seen_, std::prev(seen_.end()));
  seen_.push_front(std::move(entry));
  by_hash_.emplace(seen_.front().hash, seen_.begin());
  ++counts_.first;
}

bool GraphCache::make_room() {
  if (captured_.size() < bound_) return true;
  if (number_ - captured_.back().used < kStale) return false;
  FHERES_CUDA(cudaDeviceSynchronize());  // it may still run
  erase(captured_, std::prev(captured_.end()));
  ++counts_.evicted;
  return true;
}

cudaGraphExec_t GraphCache::capture(LaunchList& list) {
  if (capturing_ == nullptr) FHERES_CUDA(cudaStreamCreateWithFlags(&capturing_, cudaStreamNonBlocking));
  cudaGraph_t graph = nullptr;
  FHERES_CUDA(cudaStreamBeginCapture(capturing_, cudaStreamCaptureModeThreadLocal));
  try {
    list.queue(capturing_);
  } catch (...) {
    (void)cudaStreamEndCapture(capturing_, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    throw;
  }
  FHERES_CUDA(cudaStreamEndCapture(capturing_, &graph));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  memory::cuda::check(status, "cudaGraphInstantiate", __FILE__, __LINE__);
  ++counts_.captured;
  return executable;
}

void GraphCache::queue(LaunchList& list, cudaStream_t stream) {
  if (list.entries().size() < kLeast || somebody_captures(stream)) return list.queue(stream);
  Entry entry{hash_of(list, stream), stream, std::exchange(list, {}), 0, nullptr};
  const std::lock_guard lock(mutex_);
  entry.used = ++number_;
  const auto found = find(entry);
  if (found == by_hash_.end()) {
    entry.list.queue(stream);
    return remember(std::move(entry));
  }
  const Entries::iterator known = found->second;
  known->used = number_;
  if (known->graph == nullptr) {
    if (!make_room()) {
      seen_.splice(seen_.begin(), seen_, known);
      return known->list.queue(stream);
    }
    known->graph = capture(known->list);
    captured_.splice(captured_.begin(), seen_, known);
  } else {
    captured_.splice(captured_.begin(), captured_, known);
    ++counts_.replayed;
  }
  FHERES_CUDA(cudaGraphLaunch(known->graph, stream));
}

GraphCounts GraphCache::counts() const {
  const std::lock_guard lock(mutex_);
  GraphCounts counts = counts_;
  counts.held = static_cast<int>(captured_.size());
  return counts;
}

}  // namespace fheres::ring::cuda
