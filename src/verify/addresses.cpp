#include "verify/addresses.hpp"

#include <algorithm>
#include <iterator>

#include <fheres/base/check.hpp>

namespace fheres::verify {
namespace {

/// What lies between two blocks that do not slide, from low to high: a gap (maybe of nothing), then block and
/// gap in turn.
struct Stretch {
  Bytes start = 0;
  std::vector<Bytes> gaps{0};
  std::vector<Addresses::Key> blocks;
  std::vector<Bytes> sizes;
  Bytes free() const {
    Bytes sum = 0;
    for (const Bytes gap : gaps) sum += gap;
    return sum;
  }
};

/// Blocks from `first` to before `last` of a stretch, closed up towards the gap below them.
struct Choice {
  std::size_t stretch = 0, first = 0, last = 0;
  Bytes moved = 0;
};

/// The fewest bytes between two gaps that hold `bytes` with those between them, the lowest of equal ones.
std::optional<Choice> choose(const std::vector<Stretch>& stretches, Bytes bytes) {
  std::optional<Choice> best;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    const Stretch& stretch = stretches[s];
    Bytes room = 0, moved = 0;
    std::size_t first = 0;
    for (std::size_t last = 0; last < stretch.gaps.size(); ++last) {
      room += stretch.gaps[last];
      if (last != 0) moved += stretch.sizes[last - 1];
      for (; first < last && room - stretch.gaps[first] >= bytes; ++first) {
        room -= stretch.gaps[first];
        moved -= stretch.sizes[first];
      }
      if (room >= bytes && (!best || moved < best->moved)) best = Choice{s, first, last, moved};
    }
  }
  return best;
}

}  // namespace

Addresses::Addresses(Bytes capacity) : capacity_(capacity / kGranule * kGranule) {
  if (capacity_ != 0) gaps_.emplace(0, capacity_);
}

std::optional<Bytes> Addresses::fit(Bytes bytes, bool from_the_high_end) const {
  std::optional<Bytes> found;
  for (const auto& [at, room] : gaps_) {
    if (room < bytes) continue;
    if (!from_the_high_end) return at;
    found = at + room - bytes;
  }
  return found;
}

void Addresses::put(Key key, Bytes at, Bytes bytes) {
  auto gap = std::prev(gaps_.upper_bound(at));
  const Bytes start = gap->first;
  const Bytes end = start + gap->second;
  FHERES_CHECK(at + bytes <= end);
  gaps_.erase(gap);
  if (at != start) gaps_.emplace(start, at - start);
  if (at + bytes != end) gaps_.emplace(at + bytes, end - at - bytes);
  blocks_.emplace(at, Block{bytes, key});
  FHERES_CHECK(where_.emplace(key, at).second);
}

void Addresses::free(Key key) {
  const auto found = where_.find(key);
  if (found == where_.end()) return;
  Bytes start = found->second;
  const auto block = blocks_.find(start);
  Bytes end = start + block->second.bytes;
  where_.erase(found);
  blocks_.erase(block);
  const auto above = gaps_.lower_bound(start);
  if (above != gaps_.begin()) {
    const auto below = std::prev(above);
    if (below->first + below->second == start) {
      start = below->first;
      gaps_.erase(below);
    }
  }
  if (above != gaps_.end() && above->first == end) {
    end += above->second;
    gaps_.erase(above);
  }
  gaps_.emplace(start, end - start);
}

void Addresses::rename(Key from, Key to) {
  const auto found = where_.find(from);
  if (found == where_.end()) return;
  const Bytes at = found->second;
  where_.erase(found);
  where_.emplace(to, at);
  blocks_.at(at).key = to;
}

std::optional<Bytes> Addresses::take(Key key, Bytes bytes, const Slides& slides, bool from_the_high_end) {
  if (bytes == 0) return 0;
  if (bytes > capacity_) return std::nullopt;
  bytes = round_up_to_granule(bytes);
  Bytes slid = 0;
  auto at = fit(bytes, from_the_high_end);
  if (!at) {
    const auto moved = slide(bytes, slides);
    if (!moved) return std::nullopt;
    slid = *moved;
    at = fit(bytes, from_the_high_end);
    FHERES_CHECK(at.has_value());
  }
  put(key, *at, bytes);
  return slid;
}

std::optional<Bytes> Addresses::slide(Bytes bytes, const Slides& slides) {
  std::vector<Stretch> stretches(1);
  Bytes end = 0;
  for (const auto& [at, block] : blocks_) {
    stretches.back().gaps.back() = at - end;
    end = at + block.bytes;
    if (slides(block.key)) {
      stretches.back().blocks.push_back(block.key);
      stretches.back().sizes.push_back(block.bytes);
      stretches.back().gaps.push_back(0);
    } else {
      stretches.push_back({end, {0}, {}, {}});
    }
  }
  stretches.back().gaps.back() = capacity_ - end;
  const auto choice = choose(stretches, bytes);
  if (!choice) return std::nullopt;
  const Stretch& stretch = stretches[choice->stretch];
  Bytes to = stretch.start;
  for (std::size_t i = 0; i < choice->first; ++i) to += stretch.gaps[i] + stretch.sizes[i];
  for (std::size_t i = choice->first; i < choice->last; ++i) {
    free(stretch.blocks[i]);
    put(stretch.blocks[i], to, stretch.sizes[i]);
    to += stretch.sizes[i];
  }
  return choice->moved;
}

Bytes Addresses::reachable(const Slides& slides) const {
  Bytes best = 0, room = 0, end = 0;
  for (const auto& [at, block] : blocks_) {
    room += at - end;
    end = at + block.bytes;
    if (slides(block.key)) continue;
    best = std::max(best, room);
    room = 0;
  }
  return std::max(best, room + capacity_ - end);
}

std::vector<Addresses::Key> Addresses::fixed(const Slides& slides) const {
  std::vector<Key> found;
  for (const auto& [at, block] : blocks_)
    if (!slides(block.key)) found.push_back(block.key);
  return found;
}

}  // namespace fheres::verify
