#include <algorithm>
#include <numeric>

#include <fheres/base/lifetime.hpp>

namespace fheres {

Bytes place_lifetimes(std::vector<Lifetime>& pieces) {
  // Larger first because a small late piece fits between large ones, and not the other way round.
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  Bytes block = 0;
  std::vector<const Lifetime*> placed;
  for (const std::size_t index : order) {
    Lifetime& piece = pieces[index];
    std::vector<const Lifetime*> in_the_way;
    for (const Lifetime* other : placed) {
      if (piece.first <= other->last && other->first <= piece.last) in_the_way.push_back(other);
    }
    std::ranges::sort(in_the_way, {}, [](const Lifetime* other) { return other->offset; });
    Bytes offset = 0;
    for (const Lifetime* other : in_the_way) {
      if (offset + piece.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    piece.offset = offset;
    block = std::max(block, checked_add(offset, piece.bytes));
    placed.push_back(&piece);
  }
  return block;
}

}  // namespace fheres
