// Arena's compactions: which pieces slide where.
#include <algorithm>
#include <numeric>

#include <fheres/base/check.hpp>
#include <fheres/memory/arena.hpp>

namespace fheres::memory {
namespace {

// What lies between two allocations that may not slide: gaps, and the movable pieces above each of them.
struct Segment {
  struct Gap {
    ArenaPiece free;
    std::size_t pieces_above = 0;  // index, among the movable ones by address, of the first above this gap
  };
  std::vector<Gap> gaps;
  Bytes free_bytes = 0;
};

struct Choice {
  Bytes copied = 0;
  ArenaPiece window;
  std::size_t first = 0, last = 0;  // movable pieces, by address, without the last
};

}  // namespace

Bytes Compaction::copied() const {
  Bytes sum = 0;
  for (const Slide& slide : slides) sum += slide.bytes;
  return sum;
}

std::variant<Compaction, Obstruction> Arena::plan_compaction(std::span<const ArenaPiece> movable,
                                                             Bytes wanted) const {
  std::vector<std::size_t> order(movable.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return movable[i].bytes == 0; });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return movable[a].offset < movable[b].offset; });
  std::vector<Bytes> below(order.size() + 1, 0);  // bytes of the movable pieces below each
  const auto piece = [&](std::size_t k) {
    return ArenaPiece{movable[order[k]].offset, round_up_to_granule(movable[order[k]].bytes)};
  };
  for (std::size_t k = 0; k < order.size(); ++k) below[k + 1] = below[k] + piece(k).bytes;

  // Walk the addresses upwards. What is neither free nor movable ends a segment.
  std::vector<Segment> segments(1);
  std::vector<ArenaPiece> fixed;  // between segments
  auto gap = free_.begin();
  std::size_t next = 0;
  Bytes here = 0;
  while (here < capacity_) {
    if (gap != free_.end() && gap->first == here) {
      segments.back().gaps.push_back({{gap->first, gap->second}, next});
      segments.back().free_bytes += gap->second;
      here += gap->second;
      ++gap;
      continue;
    }
    if (next < order.size() && piece(next).offset == here) {
      here = piece(next).end();
      ++next;
      continue;
    }
    Bytes end = capacity_;
    if (gap != free_.end()) end = std::min(end, gap->first);
    if (next < order.size()) end = std::min(end, piece(next).offset);
    FHERES_CHECK(end > here);
    fixed.push_back({here, end - here});
    segments.emplace_back();
    here = end;
  }
  FHERES_CHECK(here == capacity_ && gap == free_.end() && next == order.size());

  const Bytes size = wanted > capacity_ ? wanted : round_up_to_granule(wanted);
  std::optional<Choice> best;
  for (const Segment& segment : segments) {
    if (segment.free_bytes < size) continue;
    Bytes room = 0;
    std::size_t first = 0;
    for (std::size_t last = 0; last < segment.gaps.size(); ++last) {
      room += segment.gaps[last].free.bytes;
      while (room - segment.gaps[first].free.bytes >= size && first < last)
        room -= segment.gaps[first++].free.bytes;
      if (room < size) continue;
      const Segment::Gap& low = segment.gaps[first];
      const Segment::Gap& high = segment.gaps[last];
      const Bytes copied = below[high.pieces_above] - below[low.pieces_above];
      if (best && best->copied <= copied) continue;
      best = Choice{
          copied, {low.free.offset, high.free.end() - low.free.offset}, low.pieces_above, high.pieces_above};
    }
  }
  if (best) {
    Compaction plan{{}, best->window};
    Bytes to = best->window.offset;
    for (std::size_t k = best->first; k < best->last; ++k) {
      plan.slides.push_back({order[k], piece(k).offset, to, piece(k).bytes});
      to += piece(k).bytes;
    }
    return plan;
  }

  Obstruction why;
  Bytes free_above = capacity_ - allocated_;
  Bytes free_below = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    why.largest_free = std::max(why.largest_free, segments[i].free_bytes);
    free_below += segments[i].free_bytes;
    free_above -= segments[i].free_bytes;
    if (i < fixed.size() && free_below != 0 && free_above != 0) why.in_the_way.push_back(fixed[i]);
  }
  return why;
}

void Arena::apply(const Compaction& compaction) {
  for (const Slide& slide : compaction.slides) {
    free(slide.from, slide.bytes);
    claim(slide.to, slide.bytes);
  }
}

}  // namespace fheres::memory
