#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/arena.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/memory/location.hpp>

namespace fheres::memory {

class Region;
class Relocation;

/// Sole owner of a piece of a Region; returns it on destruction. Move-only, so two values never share storage
/// (R8). Empty after a move. The owner must know that no stream still reads or writes it when it lets go. Its address
/// changes only by a Relocation that its owner allows.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  explicit operator bool() const { return region_ != nullptr; }
  /// Only when not empty: where, how many bytes were asked for, and the address.
  Location at() const;
  Bytes bytes() const { return bytes_; }
  std::byte* data() const { return data_; }
  Extent extent() const { return {at(), data_, bytes_}; }
  const std::shared_ptr<Region>& region() const { return region_; }

 private:
  friend class Region;
  friend class Relocation;
  Block(std::shared_ptr<Region> region, std::byte* data, Bytes bytes);
  std::shared_ptr<Region> region_;
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
};

/// One location's storage. Thread safe.
///
/// Pinned and cuda, with a capacity: one piece of that many bytes (whole granules), allocated once, so that it
/// cannot be exceeded. Without a capacity: chunks of 64 MiB, or of the block where that is larger, kept when
/// they are empty. Pageable: one driver allocation a block, whose sum never exceeds the capacity, if there is one.
///
/// Where the driver says one_allocation_per_block, so is every block: capacities, the addresses of arena() and refusals
/// are the same, but each block is storage of its own of exactly its bytes, which a checker can tell from its
/// neighbours. A relocation then copies to new allocations, beyond the capacity while it runs.
class Region : public std::enable_shared_from_this<Region> {
 public:
  /// Throws AllocationError when the location has no such room, std::invalid_argument when it is not present.
  static std::shared_ptr<Region> make(std::shared_ptr<Driver> driver, Location at,
                                      std::optional<Bytes> capacity);
  ~Region();

  /// A block aligned to kGranule. AllocationError when no free piece is large enough; its detail
  /// names the largest. Contents are unspecified: debug builds poison them.
  Block allocate(Bytes bytes);
  /// The same, or nothing where the capacity has no such piece; from that end of the addresses.
  std::optional<Block> try_allocate(Bytes bytes, End end = End::low);

  /// Whether it is one piece with a capacity, in which addresses matter.
  bool has_arena() const { return capacity_ && at_ != Location::pageable_host(); }
  /// Only of a region with an arena: a copy of it, as if no relocation were under way; a block's offset in it.
  Arena arena() const;
  Bytes offset_of(const Block& block) const;
  /// Begins to bring free bytes together (R27): plans it with Arena::plan_compaction, and keeps the gaps that it
  /// needs from everybody else. Only of a region with an arena, blocks of this region, and one at a time:
  /// std::logic_error.
  std::variant<Relocation, Obstruction> relocate(std::span<Block* const> movable, Bytes wanted);

  Location at() const { return at_; }
  std::optional<Bytes> capacity() const { return capacity_; }
  /// Bytes in live blocks, in whole granules, and the largest free piece (of the
  /// capacity; 0 where there is none).
  Bytes allocated() const;
  Bytes largest_free() const;
  /// The most that was ever in live blocks at once.
  Bytes peak_allocated() const;
  const std::shared_ptr<Driver>& driver() const { return driver_; }

 private:
  friend class Block;
  friend class Relocation;
  struct Pieces;
  Region(std::shared_ptr<Driver> driver, Location at, std::optional<Bytes> capacity);
  std::byte* take_apart(Bytes bytes, End end);
  void release(std::byte* data, Bytes bytes) noexcept;

  std::shared_ptr<Driver> driver_;
  Location at_;
  std::optional<Bytes> capacity_;
  std::unique_ptr<Pieces> pieces_;
};

/// Blocks of one region on their way together. While it lives their owner neither frees, moves nor reads them;
/// everybody else may use the region. Destroyed before copy, or after one that failed, it leaves every block where it
/// was. Move-only.
class Relocation {
 public:
  static constexpr const char* kLost = "compaction";

  Relocation(Relocation&& other) noexcept;
  Relocation& operator=(Relocation&&) = delete;
  ~Relocation();

  /// Bytes of the blocks that move, in whole granules.
  Bytes bytes() const { return plan_.copied(); }
  /// Copies, and waits. On a stream of the device, or with an empty one at a host location. On failure every
  /// block's bytes are where they were; a machine that fails while that is restored too is DeviceError with call
  /// kLost: bytes of the blocks are then lost, and the gaps are never used again.
  void copy(const Stream& stream);
  /// Has to follow a copy that succeeded: gives the blocks their new addresses and frees what they left.
  void commit();

 private:
  friend class Region;
  struct Step {
    Bytes to, from, bytes;
  };
  Relocation(std::shared_ptr<Region> region, Compaction plan, std::span<Block* const> movable);
  std::vector<Step> steps() const;
  void copy_one(const Stream& stream, Bytes to, Bytes from, Bytes bytes) const;
  void copy_extent(const Stream& stream, const Extent& destination, const Extent& source) const;
  void copy_apart(const Stream& stream);
  void settle_apart(Block& block, std::byte* copy, Bytes offset) const;
  void undo(const Stream& stream, std::span<const Step> done) const;
  void make_addressable() const;
  void hide_free(Bytes offset, Bytes bytes) const;
  void hide_tails() const;

  std::shared_ptr<Region> region_;
  Compaction plan_;
  std::vector<Block*> blocks_;      // of each slide
  std::vector<std::byte*> copies_;  // of each slide, where blocks are allocations of their own: the new ones
  bool lost_ = false;
};

}  // namespace fheres::memory
