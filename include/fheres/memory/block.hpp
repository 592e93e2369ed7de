#pragma once

#include <memory>
#include <optional>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/memory/location.hpp>

namespace fheres::memory {

class Region;

/// Sole owner of a piece of a Region; returns it on destruction. Move-only, so two values never share storage
/// (R8). Empty after a move. The owner must know that no stream still reads or writes it when it lets go.
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
class Region : public std::enable_shared_from_this<Region> {
 public:
  /// Throws AllocationError when the location has no such room, std::invalid_argument when it is not present.
  static std::shared_ptr<Region> make(std::shared_ptr<Driver> driver, Location at,
                                      std::optional<Bytes> capacity);
  ~Region();

  /// A block aligned to kGranule. AllocationError when no free piece is large enough; its detail
  /// names the largest. Contents are unspecified: debug builds poison them.
  Block allocate(Bytes bytes);

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
  struct Pieces;
  Region(std::shared_ptr<Driver> driver, Location at, std::optional<Bytes> capacity);
  void release(std::byte* data, Bytes bytes) noexcept;

  std::shared_ptr<Driver> driver_;
  Location at_;
  std::optional<Bytes> capacity_;
  std::unique_ptr<Pieces> pieces_;
};

}  // namespace fheres::memory
