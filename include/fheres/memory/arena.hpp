#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include <fheres/base/bytes.hpp>

namespace fheres::memory {

/// The addresses of one region: a deterministic first-fit allocator over [0, capacity), in granules of
/// kGranule bytes. Pure arithmetic: it owns no storage, copies like a value, and so serves live regions and
/// replays alike. The same sequence of calls gives the same offsets everywhere. Not thread safe.
class Arena {
 public:
  /// A capacity that is no multiple of kGranule loses its last partial granule.
  explicit Arena(Bytes capacity);

  /// The lowest offset with room for `bytes` (rounded up to granules), or nothing when no free piece is large
  /// enough. Zero bytes take no room and give offset 0.
  std::optional<Bytes> allocate(Bytes bytes);
  /// Ends an allocation of `bytes` at `offset`, both as given to and by allocate. std::logic_error if there
  /// is none.
  void free(Bytes offset, Bytes bytes);

  Bytes capacity() const { return capacity_; }
  Bytes allocated() const { return allocated_; }
  Bytes largest_free() const;

 private:
  Bytes capacity_;
  Bytes allocated_ = 0;
  std::map<Bytes, Bytes> free_;  // offset -> size, neighbours merged
};

}  // namespace fheres::memory
