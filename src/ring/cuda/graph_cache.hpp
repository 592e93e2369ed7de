#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

#include <fheres/ring/backend.hpp>

#include "ring/cuda/launch_list.hpp"

namespace fheres::ring::cuda {

/// CUDA graphs of lists of launches that come again, arguments and all: those of a loop that works in the same places.
///
/// A list is queued kernel by kernel the first time, captured the second time on a stream of the cache's own, and replayed
/// from then on. Replacing arguments in a graph of the same shapes costs more than the launches that it saves, so a list
/// with other arguments is another list. Each stream has graphs of its own, for a graph waits for its own launch before.
/// Lists of fewer than kLeast launches are always queued as they are, and so are all on a stream that somebody captures.
/// Those that keep the device busy by themselves do not come here (Keeping).
///
/// So many graphs are kept, and a few times as many lists that were seen once. A graph makes room for another only when
/// it has not been used for kStale lists: so more work than there is room for does not push out one graph after the other.
/// Thread safe. The device has to be current.
class GraphCache {
 public:
  static constexpr std::size_t kLeast = 3;
  static constexpr std::uint64_t kStale = 4096;

  explicit GraphCache(int bound) : bound_(static_cast<std::size_t>(bound)) {}
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  bool enabled() const { return bound_ > 0; }
  /// May take the list's storage.
  void queue(LaunchList& list, cudaStream_t stream);
  GraphCounts counts() const;

 private:
  struct Entry {
    std::size_t hash = 0;
    cudaStream_t stream = nullptr;
    LaunchList list;
    std::uint64_t used = 0;  // the list's number
    cudaGraphExec_t graph = nullptr;
  };
  using Entries = std::list<Entry>;  // the most recently used first
  using ByHash = std::unordered_multimap<std::size_t, Entries::iterator>;

  static std::size_t hash_of(const LaunchList& list, cudaStream_t stream);
  ByHash::iterator find(const Entry& like);
  void remember(Entry entry);
  bool make_room();
  void erase(Entries& from, Entries::iterator entry);
  cudaGraphExec_t capture(LaunchList& list);

  const std::size_t bound_;
  mutable std::mutex mutex_;
  Entries seen_, captured_;
  ByHash by_hash_;
  std::uint64_t number_ = 0;
  cudaStream_t capturing_ = nullptr;
  GraphCounts counts_;
};

}  // namespace fheres::ring::cuda
