#pragma once

#include <list>
#include <mutex>
#include <vector>

#include <fheres/memory/arena.hpp>
#include <fheres/memory/block.hpp>

namespace fheres::memory {

struct Piece {
  std::byte* data = nullptr;
  Arena arena;
};

/// A region's storage. Pageable storage has no pieces: the operating system gives one allocation a block, and only
/// bytes are counted.
struct Region::Pieces {
  mutable std::mutex mutex;
  std::list<Piece> pieces;
  Bytes allocated = 0;
  Bytes peak_allocated = 0;
  bool addressable = false;         // by the host, so freed space can be poisoned
  std::vector<ArenaPiece> claimed;  // gaps that a relocation uses: taken in the arena, and no block's
};

}  // namespace fheres::memory
