#include <algorithm>
#include <stdexcept>

#include "lockstep/rules.hpp"

namespace fheres::lockstep {
// --- Addresses: the same first fit in the same order as a region, from the high end for what arrives later.

std::optional<Bytes> Rules::take(Location at, Bytes bytes, bool arrives) {
  const auto arena = arenas_.find(at);
  if (arena == arenas_.end()) return std::nullopt;
  const memory::End end = arrives ? memory::End::high : memory::End::low;
  if (const auto offset = arena->second.allocate(bytes, end)) return offset;
  const auto slid = slide(at, bytes);
  if (!slid) return std::nullopt;
  compacted_[at] += *slid;
  return arenas_.at(at).allocate(bytes, end);
}

std::vector<Rules::Sliding> Rules::blocks_at(Location at) {
  std::vector<Sliding> found;
  for (RuleValue& value : values_) {
    const auto copy = value.copies.find(at);
    if (copy == value.copies.end() || !copy->second.offset || copy->second.actual == 0) continue;
    RuleCopy& there = copy->second;
    found.push_back({*there.offset, rounded(there.actual), !there.is_protected(), &*there.offset});
  }
  for (auto& [key, block] : blocks_) {
    if (block.at == at && block.offset && block.bytes != 0)
      found.push_back({*block.offset, rounded(block.bytes), false, &*block.offset});
  }
  for (auto& [key, arrival] : arrivals_) {
    if (arrival.at == at && arrival.kept_offset && arrival.kept != 0)
      found.push_back({*arrival.kept_offset, rounded(arrival.kept), false, &*arrival.kept_offset});
    if (at == Location::pinned_host() && arrival.offset && arrival.staged != 0)
      found.push_back({*arrival.offset, rounded(arrival.staged), false, &*arrival.offset});
  }
  std::sort(found.begin(), found.end(),
            [](const Sliding& a, const Sliding& b) { return a.offset < b.offset; });
  return found;
}

bool Rules::rebuild_arena(Location at) {
  const auto arena = arenas_.find(at);
  if (arena == arenas_.end()) return true;
  arena->second = memory::Arena(arena->second.capacity());
  for (const Sliding& block : blocks_at(at)) {
    try {
      arena->second.claim(block.offset, block.size);
    } catch (const std::logic_error&) {
      return false;
    }
  }
  return true;
}

void Rules::readdress(std::uint64_t serial, Location at, std::optional<Bytes> offset) {
  values_[serial].copies.at(at).offset = offset;
}

void Rules::readdress_arrival(std::uint64_t serial, Location at, std::optional<Bytes> offset) {
  for (auto& [key, arrival] : arrivals_) {
    if (arrival.serial == serial && arrival.at == at) arrival.kept_offset = offset;
  }
}
void Rules::readdress_staging(std::uint64_t arrival, Bytes offset) { arrivals_.at(arrival).offset = offset; }

// R27, by trying every first and last block of a run that slides together: the run starts where the block below it
// ends. Nothing where no run gives a piece; else the bytes that slid.
std::optional<Bytes> Rules::slide(Location at, Bytes bytes) {
  const std::vector<Sliding> there = blocks_at(at);
  const Bytes capacity = arenas_.at(at).capacity();
  struct Run {
    Bytes moved, start;
    std::size_t first, last;
  };
  std::optional<Run> best;
  for (std::size_t first = 0; first < there.size(); ++first) {
    const Bytes start = first == 0 ? 0 : there[first - 1].offset + there[first - 1].size;
    if (there[first].offset == start) continue;  // a run begins above a gap
    Bytes moved = 0;
    for (std::size_t last = first; last < there.size() && there[last].slides; ++last) {
      moved += there[last].size;
      const Bytes end = last + 1 < there.size() ? there[last + 1].offset : capacity;
      if (end - start - moved < rounded(bytes)) continue;
      if (!best || moved < best->moved) best = Run{moved, start, first, last};
    }
  }
  if (!best) return std::nullopt;
  Bytes to = best->start;
  for (std::size_t i = best->first; i <= best->last; ++i) {
    *there[i].home = to;
    to += there[i].size;
  }
  rebuild_arena(at);
  return best->moved;
}

void Rules::give_back(Location at, const std::optional<Bytes>& offset, Bytes bytes) {
  if (offset && arenas_.contains(at)) arenas_.at(at).free(*offset, bytes);
}

bool Rules::has_piece(Location at, Bytes bytes) const {
  const auto arena = arenas_.find(at);
  if (arena == arenas_.end() || memory::Arena(arena->second).allocate(bytes)) return true;
  Rules copy = *this;
  return copy.slide(at, bytes).has_value();
}
Bytes Rules::largest_free(Location at) const {
  const auto arena = arenas_.find(at);
  return arena == arenas_.end() ? 0 : arena->second.largest_free();
}
Bytes Rules::compacted(Location at) const {
  const auto found = compacted_.find(at);
  return found == compacted_.end() ? 0 : found->second;
}

}  // namespace fheres::lockstep
