#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <fheres/base/bytes.hpp>

namespace fheres::memory {

/// Some addresses of an arena.
struct ArenaPiece {
  Bytes offset = 0;
  Bytes bytes = 0;
  Bytes end() const { return offset + bytes; }
  friend bool operator==(const ArenaPiece&, const ArenaPiece&) = default;
};

/// One piece's way to a lower address. The two places may overlap.
struct Slide {
  std::size_t piece = 0;  // index into the pieces that were given
  Bytes from = 0;
  Bytes to = 0;
  Bytes bytes = 0;  // whole granules
  friend bool operator==(const Slide&, const Slide&) = default;
};

/// What makes one free piece out of several (R27): slides by ascending address, to be done in this order. They fill
/// `window` from its start, and leave its end free. Without slides there is such a piece already.
struct Compaction {
  std::vector<Slide> slides;
  ArenaPiece window;
  Bytes copied() const;
};

/// Which end of the free addresses a piece is taken from.
enum class End { low, high };

/// Why no compaction makes the piece.
struct Obstruction {
  Bytes largest_free = 0;              // the most that sliding could bring together
  std::vector<ArenaPiece> in_the_way;  // what may not slide and has free bytes below and above it, ascending
};

/// The addresses of one region: a deterministic allocator over [0, capacity), first fit from either end, in granules of
/// kGranule bytes. Pure arithmetic: it owns no storage, copies like a value, and so serves live regions and
/// replays alike. The same sequence of calls gives the same offsets everywhere. Not thread safe.
class Arena {
 public:
  /// A capacity that is no multiple of kGranule loses its last partial granule.
  explicit Arena(Bytes capacity);

  /// The lowest, or the highest, offset with room for `bytes` (rounded up to granules), or nothing when no free piece is
  /// large enough. Zero bytes take no room and give offset 0.
  std::optional<Bytes> allocate(Bytes bytes, End end = End::low);
  /// Ends an allocation of `bytes` at `offset`, both as given to and by allocate. std::logic_error if there
  /// is none.
  void free(Bytes offset, Bytes bytes);
  /// Takes these addresses, which must be free: std::logic_error.
  void claim(Bytes offset, Bytes bytes);

  /// How to get one free piece of `wanted` bytes by sliding some of these allocations, given as to free, towards
  /// low addresses. Their order stays, and nothing passes an allocation that is not given. Of the runs of
  /// neighbouring gaps that are wide enough, the one with the fewest bytes between its gaps is closed, of equal
  /// ones the lowest: no other way that keeps the order copies less. std::logic_error for a piece that is free.
  std::variant<Compaction, Obstruction> plan_compaction(std::span<const ArenaPiece> movable,
                                                        Bytes wanted) const;
  void apply(const Compaction& compaction);
  /// By ascending offset.
  std::vector<ArenaPiece> free_pieces() const;

  Bytes capacity() const { return capacity_; }
  Bytes allocated() const { return allocated_; }
  Bytes largest_free() const;

 private:
  std::optional<Bytes> find(Bytes size, End end) const;

  Bytes capacity_;
  Bytes allocated_ = 0;
  std::map<Bytes, Bytes> free_;  // offset -> size, neighbours merged
};

}  // namespace fheres::memory
