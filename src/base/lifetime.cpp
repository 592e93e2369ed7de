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
  std::vector<const Lifetime*> placed;  // by offset
  for (const std::size_t index : order) {
    Lifetime& piece = pieces[index];
    Bytes offset = 0;
    for (const Lifetime* other : placed) {
      if (piece.first > other->last || other->first > piece.last) continue;
      if (offset + piece.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    piece.offset = offset;
    block = std::max(block, checked_add(offset, piece.bytes));
    placed.insert(
        std::ranges::upper_bound(placed, offset, {}, [](const Lifetime* other) { return other->offset; }),
        &piece);
  }
  return block;
}

}  // namespace fheres
