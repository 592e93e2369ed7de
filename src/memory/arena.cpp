#include <algorithm>
#include <iterator>
#include <limits>

#include <fheres/base/check.hpp>
#include <fheres/memory/arena.hpp>

namespace fheres::memory {

Arena::Arena(Bytes capacity) : capacity_(capacity / kGranule * kGranule) {
  if (capacity_ != 0) free_.emplace(0, capacity_);
}

std::optional<Bytes> Arena::find(Bytes size, End end) const {
  const auto has_room = [&](const auto& piece) { return piece.second >= size; };
  if (end == End::low) {
    const auto piece = std::find_if(free_.begin(), free_.end(), has_room);
    return piece == free_.end() ? std::nullopt : std::optional(piece->first);
  }
  const auto piece = std::find_if(free_.rbegin(), free_.rend(), has_room);
  return piece == free_.rend() ? std::nullopt : std::optional(piece->first + piece->second - size);
}

std::optional<Bytes> Arena::allocate(Bytes bytes, End end) {
  if (bytes == 0) return 0;
  if (bytes > capacity_) return std::nullopt;  // so that rounding up cannot overflow
  const std::optional<Bytes> offset = find(round_up_to_granule(bytes), end);
  if (offset) claim(*offset, bytes);
  return offset;
}

void Arena::free(Bytes offset, Bytes bytes) {
  if (bytes == 0) return;
  FHERES_CHECK(bytes <= capacity_);
  const Bytes size = round_up_to_granule(bytes);
  FHERES_CHECK(offset % kGranule == 0 && offset <= capacity_ && size <= capacity_ - offset);
  const auto next = free_.lower_bound(offset);
  FHERES_CHECK(next == free_.end() || offset + size <= next->first);
  const auto previous = next == free_.begin() ? free_.end() : std::prev(next);
  FHERES_CHECK(previous == free_.end() || previous->first + previous->second <= offset);

  Bytes start = offset;
  Bytes end = offset + size;
  if (next != free_.end() && next->first == end) {
    end += next->second;
    free_.erase(next);
  }
  if (previous != free_.end() && previous->first + previous->second == start) {
    start = previous->first;
    free_.erase(previous);
  }
  free_.emplace(start, end - start);
  allocated_ -= size;
}

void Arena::claim(Bytes offset, Bytes bytes) {
  if (bytes == 0) return;
  FHERES_CHECK(bytes <= capacity_ && offset % kGranule == 0);
  const Bytes size = round_up_to_granule(bytes);
  auto piece = free_.upper_bound(offset);
  FHERES_CHECK(piece != free_.begin());
  --piece;
  const auto [start, room] = *piece;
  FHERES_CHECK(offset - start <= room && size <= room - (offset - start));
  const auto next = free_.erase(piece);
  if (offset != start) free_.emplace_hint(next, start, offset - start);
  if (offset + size != start + room) free_.emplace_hint(next, offset + size, start + room - offset - size);
  allocated_ += size;
}

std::vector<ArenaPiece> Arena::free_pieces() const {
  std::vector<ArenaPiece> pieces;
  pieces.reserve(free_.size());
  for (const auto& [offset, bytes] : free_) pieces.push_back({offset, bytes});
  return pieces;
}

Bytes Arena::largest_free() const {
  Bytes largest = 0;
  for (const auto& [offset, size] : free_) largest = std::max(largest, size);
  return largest;
}

}  // namespace fheres::memory
