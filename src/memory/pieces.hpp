#pragma once

#include <list>
#include <map>
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
/// bytes are counted. The same is done elsewhere where the driver asks for one allocation a block, but for an arena
/// that goes on keeping the addresses.
struct Region::Pieces {
  mutable std::mutex mutex;
  std::list<Piece> pieces;
  Bytes allocated = 0;
  Bytes peak_allocated = 0;
  bool addressable = false;  // by the host, so freed space can be poisoned
  bool apart = false;        // every block is an allocation of its own, and a piece has no storage
  std::map<const std::byte*, Bytes> offsets;  // of those, in a region with an arena
  std::vector<ArenaPiece> claimed;  // gaps that a relocation uses: taken in the arena, and no block's

  /// Storage in one piece whose free parts can be poisoned.
  bool has_gaps() const { return addressable && !apart; }
  /// An allocation that one block owns, and its end. What lies behind its bytes is a red zone.
  std::byte* take(Driver& driver, Location at, Bytes bytes) const;
  void give_back(Driver& driver, Location at, std::byte* data, Bytes bytes) const noexcept;
};

}  // namespace fheres::memory
