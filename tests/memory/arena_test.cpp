#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/arena.hpp>

#include "support/random.hpp"

using namespace fheres;
using memory::Arena;
using memory::End;

namespace {

// The same contract, said as one flag a granule.
class FlagArena {
 public:
  explicit FlagArena(Bytes capacity) : taken_(capacity / kGranule, false) {}
  std::optional<Bytes> allocate(Bytes bytes, End end = End::low) {
    const std::size_t count = (bytes + kGranule - 1) / kGranule;
    if (count == 0) return 0;
    for (std::size_t i = 0; i + count <= taken_.size(); ++i) {
      const std::size_t start = end == End::low ? i : taken_.size() - count - i;
      const auto first = taken_.begin() + static_cast<std::ptrdiff_t>(start);
      const auto last = first + static_cast<std::ptrdiff_t>(count);
      if (std::find(first, last, true) != last) continue;
      std::fill(first, last, true);
      return start * kGranule;
    }
    return std::nullopt;
  }
  void free(Bytes offset, Bytes bytes) {
    const std::size_t start = offset / kGranule;
    for (std::size_t i = start; i < start + (bytes + kGranule - 1) / kGranule; ++i) taken_[i] = false;
  }
  Bytes allocated() const {
    return static_cast<Bytes>(std::count(taken_.begin(), taken_.end(), true)) * kGranule;
  }
  Bytes largest_free() const {
    Bytes run = 0, largest = 0;
    for (const bool taken : taken_) {
      run = taken ? 0 : run + kGranule;
      largest = std::max(largest, run);
    }
    return largest;
  }

 private:
  std::vector<bool> taken_;
};

struct Piece {
  Bytes offset, bytes;
};

}  // namespace

TEST_CASE("an arena gives the lowest offset with room and merges what comes back") {
  Arena arena(4 * kGranule);
  CHECK(arena.allocate(1) == 0u);
  CHECK(arena.allocate(kGranule) == kGranule);
  CHECK(arena.allocate(kGranule + 1) == 2 * kGranule);
  CHECK(arena.allocated() == 4 * kGranule);
  CHECK_FALSE(arena.allocate(1).has_value());
  CHECK(arena.largest_free() == 0);
  arena.free(0, 1);
  arena.free(2 * kGranule, kGranule + 1);
  CHECK(arena.largest_free() == 2 * kGranule);
  CHECK_FALSE(arena.allocate(3 * kGranule).has_value());  // fits by bytes, in no single piece
  arena.free(kGranule, kGranule);
  CHECK(arena.largest_free() == 4 * kGranule);
  CHECK(arena.allocate(4 * kGranule) == 0u);
}

TEST_CASE("an arena gives the highest offset with room where it is asked for the high end") {
  Arena arena(10 * kGranule);
  CHECK(arena.allocate(2 * kGranule, End::high) == 8 * kGranule);
  CHECK(arena.allocate(2 * kGranule) == 0u);
  CHECK(arena.allocate(kGranule + 1, End::high) == 6 * kGranule);
  arena.free(8 * kGranule, 2 * kGranule);
  CHECK(arena.allocate(3 * kGranule, End::high) == 3 * kGranule);  // the last piece is too small
  CHECK(arena.allocate(2 * kGranule, End::high) == 8 * kGranule);
  CHECK_FALSE(arena.allocate(2 * kGranule, End::high).has_value());
  CHECK(arena.allocate(0, End::high) == 0u);
  CHECK(arena.allocate(kGranule, End::high) == 2 * kGranule);
  CHECK(arena.largest_free() == 0);
}

TEST_CASE("an arena's edges: no room at all, a partial granule, zero bytes, sizes near 2^64") {
  Arena none(0);
  CHECK(none.allocate(0) == 0u);
  CHECK_FALSE(none.allocate(1).has_value());
  CHECK(none.largest_free() == 0);
  Arena partial(kGranule + 255);
  CHECK(partial.capacity() == kGranule);
  CHECK_FALSE(partial.allocate(kGranule + 1).has_value());
  CHECK_FALSE(partial.allocate(~Bytes{0}).has_value());
  CHECK(partial.allocate(kGranule) == 0u);
  CHECK(partial.allocate(0) == 0u);
  CHECK(partial.allocated() == kGranule);
  partial.free(0, 0);
  CHECK(partial.allocated() == kGranule);
}

TEST_CASE("freeing what an arena did not hand out is a broken invariant, and changes nothing") {
  Arena arena(8 * kGranule);
  REQUIRE(arena.allocate(2 * kGranule) == 0u);
  REQUIRE(arena.allocate(2 * kGranule) == 2 * kGranule);
  arena.free(2 * kGranule, 2 * kGranule);
  CHECK_THROWS_AS(arena.free(2 * kGranule, 2 * kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.free(kGranule, 2 * kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.free(1, kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.free(7 * kGranule, 2 * kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.free(0, ~Bytes{0}), std::logic_error);
  CHECK(arena.allocated() == 2 * kGranule);
  arena.free(0, 2 * kGranule);
  CHECK(arena.largest_free() == 8 * kGranule);
}

TEST_CASE("an arena agrees with one flag a granule on random sequences, and its copy goes the same way") {
  const std::uint64_t seed = test::test_seed(20240611);
  for (std::uint64_t round = 0; round < 60; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    test::Random random(seed + round);
    const Bytes capacity = random.below(64 * kGranule);
    Arena arena(capacity);
    FlagArena flags(capacity);
    std::vector<Piece> live;
    for (int i = 0; i < 300; ++i) {
      if (live.empty() || random.below(5) < 3) {
        const Bytes bytes = random.below(9 * kGranule);
        const End end = random.below(3) == 0 ? End::high : End::low;
        Arena copy = arena;
        const std::optional<Bytes> offset = arena.allocate(bytes, end);
        REQUIRE(offset == flags.allocate(bytes, end));
        REQUIRE(offset == copy.allocate(bytes, end));
        if (offset) live.push_back({*offset, bytes});
      } else {
        const std::size_t which = random.below(live.size());
        arena.free(live[which].offset, live[which].bytes);
        flags.free(live[which].offset, live[which].bytes);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
      REQUIRE(arena.allocated() == flags.allocated());
      REQUIRE(arena.largest_free() == flags.largest_free());
    }
    for (const Piece& piece : live) arena.free(piece.offset, piece.bytes);
    CHECK(arena.allocated() == 0);
    CHECK(arena.largest_free() == arena.capacity());
  }
}
