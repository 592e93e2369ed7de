#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/memory/arena.hpp>
#include <fheres/memory/block.hpp>
#include <fheres/memory/poison.hpp>

#include "memory/pieces.hpp"

namespace fheres::memory {
namespace {

constexpr Bytes kChunk = 64 * kMiB;

}  // namespace

Block::Block(std::shared_ptr<Region> region, std::byte* data, Bytes bytes)
    : region_(std::move(region)), data_(data), bytes_(bytes) {}

Block::Block(Block&& other) noexcept
    : region_(std::move(other.region_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {
  other.region_.reset();
}

Block& Block::operator=(Block&& other) noexcept {
  Block taken(std::move(other));  // so that what this held is returned, and self-assignment keeps it
  std::swap(region_, taken.region_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

Block::~Block() {
  if (region_) region_->release(data_, bytes_);
}

Location Block::at() const { return region_->at(); }

std::byte* Region::Pieces::take(Driver& driver, Location at, Bytes bytes) const {
  std::byte* data = driver.allocate(at, bytes);
  if (addressable) poison(data + bytes, round_up_to_granule(bytes) - bytes, false);
  return data;
}

void Region::Pieces::give_back(Driver& driver, Location at, std::byte* data, Bytes bytes) const noexcept {
  if (addressable) {
    poison(data, bytes, true);  // a late reader that no checker watches still sees the pattern
    unpoison(data, round_up_to_granule(bytes));
  }
  driver.deallocate(at, data, bytes);
}

Region::Region(std::shared_ptr<Driver> driver, Location at, std::optional<Bytes> capacity)
    : driver_(std::move(driver)), at_(at), capacity_(capacity), pieces_(std::make_unique<Pieces>()) {}

std::shared_ptr<Region> Region::make(std::shared_ptr<Driver> driver, Location at,
                                     std::optional<Bytes> capacity) {
  if (!driver) throw std::invalid_argument("expected a driver, got none");
  if (!driver->present(at)) {
    throw std::invalid_argument(fmt::format("{} is not present: this driver has {} cuda location(s)",
                                            at.name(), driver->device_count()));
  }
  const bool addressable = driver->host_addressable(at);
  const bool apart = at == Location::pageable_host() || driver->one_allocation_per_block(at);
  std::shared_ptr<Region> region(new Region(std::move(driver), at, capacity));
  region->pieces_->addressable = addressable;
  region->pieces_->apart = apart;
  if (region->has_arena()) {
    Arena arena(*capacity);
    const Bytes bytes = arena.capacity();
    std::byte* data = bytes == 0 || apart ? nullptr : region->driver_->allocate(at, bytes);
    region->pieces_->pieces.push_back({data, std::move(arena)});
    if (region->pieces_->has_gaps()) poison(data, bytes, false);
  }
  return region;
}

Region::~Region() {
  for (const Piece& piece : pieces_->pieces) {
    if (piece.data == nullptr) continue;
    if (pieces_->addressable) unpoison(piece.data, piece.arena.capacity());
    driver_->deallocate(at_, piece.data, piece.arena.capacity());
  }
}

Block Region::allocate(Bytes bytes) {
  if (std::optional<Block> made = try_allocate(bytes)) return std::move(*made);
  if (at_ == Location::pageable_host()) {
    const Bytes room = *capacity_ / kGranule * kGranule - allocated();
    throw AllocationError(
        at_, bytes,
        fmt::format("{} of {} are free", format_exact_bytes(room), format_exact_bytes(*capacity_)));
  }
  const Arena now = arena();
  throw AllocationError(at_, bytes,
                        fmt::format("{} are free, the largest piece is {}",
                                    format_exact_bytes(now.capacity() - now.allocated()),
                                    format_exact_bytes(now.largest_free())));
}

std::optional<Block> Region::try_allocate(Bytes bytes, End end) {
  if (bytes == 0) return Block(shared_from_this(), nullptr, 0);
  const Bytes size = round_up_to_granule(bytes);
  const std::lock_guard lock(pieces_->mutex);
  const auto hand_out = [&](std::byte* data) {
    pieces_->allocated += size;
    pieces_->peak_allocated = std::max(pieces_->peak_allocated, pieces_->allocated);
    if (pieces_->has_gaps()) unpoison(data, bytes);  // the rest of the last granule stays a red zone
    return Block(shared_from_this(), data, bytes);
  };

  if (pieces_->apart) {
    std::byte* data = take_apart(bytes, end);
    if (data == nullptr) return std::nullopt;
    return hand_out(data);
  }
  for (Piece& piece : pieces_->pieces) {
    if (const std::optional<Bytes> offset = piece.arena.allocate(bytes, end))
      return hand_out(piece.data + *offset);
  }
  if (capacity_) return std::nullopt;
  Arena fresh(std::max(kChunk, size));
  pieces_->pieces.push_back({nullptr, std::move(fresh)});
  Piece& piece = pieces_->pieces.back();
  try {
    piece.data = driver_->allocate(at_, piece.arena.capacity());
  } catch (...) {
    pieces_->pieces.pop_back();
    throw;
  }
  if (pieces_->addressable) poison(piece.data, piece.arena.capacity(), false);
  return hand_out(piece.data + *piece.arena.allocate(bytes, end));
}

// An allocation for one block alone, or null where the capacity has no room for it.
std::byte* Region::take_apart(Bytes bytes, End end) {
  if (!has_arena()) {
    const Bytes size = round_up_to_granule(bytes);
    if (capacity_ && size > *capacity_ / kGranule * kGranule - pieces_->allocated) return nullptr;
    return pieces_->take(*driver_, at_, bytes);
  }
  Arena& arena = pieces_->pieces.front().arena;
  const std::optional<Bytes> offset = arena.allocate(bytes, end);
  if (!offset) return nullptr;
  try {
    std::byte* data = pieces_->take(*driver_, at_, bytes);
    pieces_->offsets.emplace(data, *offset);
    return data;
  } catch (...) {
    arena.free(*offset, bytes);
    throw;
  }
}

void Region::release(std::byte* data, Bytes bytes) noexcept {
  if (bytes == 0) return;
  const Bytes size = round_up_to_granule(bytes);
  const std::lock_guard lock(pieces_->mutex);
  pieces_->allocated -= size;
  if (pieces_->apart) {
    if (has_arena()) {
      pieces_->pieces.front().arena.free(pieces_->offsets.at(data), bytes);
      pieces_->offsets.erase(data);
    }
    pieces_->give_back(*driver_, at_, data, bytes);
    return;
  }
  // Only the bytes that were asked for are addressable under the sanitizer.
  if (pieces_->addressable) poison(data, bytes, true);
  for (Piece& piece : pieces_->pieces) {
    if (data < piece.data || data >= piece.data + piece.arena.capacity()) continue;
    piece.arena.free(static_cast<Bytes>(data - piece.data), bytes);
    return;
  }
}

Bytes Region::allocated() const {
  const std::lock_guard lock(pieces_->mutex);
  return pieces_->allocated;
}

Bytes Region::peak_allocated() const {
  const std::lock_guard lock(pieces_->mutex);
  return pieces_->peak_allocated;
}

Bytes Region::largest_free() const {
  if (!capacity_) return 0;
  const std::lock_guard lock(pieces_->mutex);
  if (at_ == Location::pageable_host()) return *capacity_ / kGranule * kGranule - pieces_->allocated;
  return pieces_->pieces.front().arena.largest_free();
}

}  // namespace fheres::memory
