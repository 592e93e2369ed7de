#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/arena.hpp>
#include <fheres/memory/block.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/memory/poison.hpp>

#include "support/faulty_driver.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::memory;
using fheres::test::Call;
using fheres::test::FaultyDriver;

namespace {

struct Allocated {
  Bytes offset, bytes;
  bool may_move;
};

struct Drawn {
  Arena arena{0};
  std::vector<Allocated> pieces;  // by address
};

Drawn draw(test::Random& random, std::size_t granules) {
  Drawn drawn;
  drawn.arena = Arena(granules * kGranule);
  std::vector<Bytes> gaps;
  while (drawn.arena.largest_free() != 0) {
    const Bytes bytes = std::min(drawn.arena.largest_free(), (1 + random.below(3)) * kGranule);
    const Bytes offset = *drawn.arena.allocate(bytes);
    if (random.chance(2)) {
      gaps.push_back(offset);
      gaps.push_back(bytes);
    } else {
      drawn.pieces.push_back({offset, bytes - random.below(kGranule), !random.chance(4)});
    }
  }
  for (std::size_t i = 0; i < gaps.size(); i += 2) drawn.arena.free(gaps[i], gaps[i + 1]);
  return drawn;
}

std::vector<ArenaPiece> movable_of(const Drawn& drawn) {
  std::vector<ArenaPiece> movable;
  for (const Allocated& piece : drawn.pieces)
    if (piece.may_move) movable.push_back({piece.offset, piece.bytes});
  return movable;
}

// Every way to place the movable pieces that keeps the order of all: the fewest bytes that must change place for a
// free run of `wanted`, and the longest run that any of them has.
struct Best {
  std::optional<Bytes> copied;
  Bytes longest = 0;
};
Best every_way(const Drawn& drawn, Bytes wanted) {
  const Bytes granules = drawn.arena.capacity() / kGranule;
  Best best;
  std::function<void(std::size_t, Bytes, Bytes, Bytes)> go = [&](std::size_t i, Bytes here, Bytes run,
                                                                 Bytes copied) {
    // `here` is the lowest granule that the next piece may have; `run` the longest free run so far.
    if (i == drawn.pieces.size()) {
      run = std::max(run, granules - here);
      best.longest = std::max(best.longest, run * kGranule);
      if (run * kGranule >= wanted && (!best.copied || copied < *best.copied)) best.copied = copied;
      return;
    }
    const Allocated& piece = drawn.pieces[i];
    const Bytes size = (piece.bytes + kGranule - 1) / kGranule;
    const Bytes own = piece.offset / kGranule;
    const Bytes last = piece.may_move ? granules - size : own;
    for (Bytes at = piece.may_move ? here : own; at >= here && at <= last; ++at)
      go(i + 1, at + size, std::max(run, at - here), copied + (at == own ? 0 : size * kGranule));
  };
  go(0, 0, 0, 0);
  return best;
}

}  // namespace

TEST_CASE(
    "R27: a compaction copies the fewest bytes of all that keep the order, or none would do, by brute "
    "force") {
  const std::uint64_t seed = test::test_seed(270001);
  std::size_t compacted = 0, refused = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    test::Random random(seed + round);
    Drawn drawn = draw(random, 4 + random.below(8));
    const Bytes free = drawn.arena.capacity() - drawn.arena.allocated();
    if (free == 0) continue;
    const Bytes wanted = (1 + random.below(free / kGranule)) * kGranule;
    const std::vector<ArenaPiece> movable = movable_of(drawn);
    const auto planned = drawn.arena.plan_compaction(movable, wanted - random.below(kGranule));
    const Best best = every_way(drawn, wanted);
    if (const auto* plan = std::get_if<Compaction>(&planned)) {
      REQUIRE(best.copied.has_value());
      CHECK(plan->copied() == *best.copied);
      for (const Slide& slide : plan->slides) {
        CHECK(slide.to < slide.from);
        CHECK(slide.from == movable[slide.piece].offset);
      }
      Arena after = drawn.arena;
      after.apply(*plan);
      CHECK(after.allocated() == drawn.arena.allocated());
      CHECK(after.largest_free() >= wanted);
      // Where it says the free bytes are, and nowhere else changed.
      CHECK(after.allocate(wanted).has_value());
      ++compacted;
    } else {
      CHECK_FALSE(best.copied.has_value());
      const Obstruction& why = std::get<Obstruction>(planned);
      CHECK(why.largest_free == best.longest);
      CHECK(why.largest_free < wanted);
      REQUIRE_FALSE(why.in_the_way.empty());
      for (const ArenaPiece& span : why.in_the_way)
        CHECK(std::any_of(drawn.pieces.begin(), drawn.pieces.end(), [&](const Allocated& p) {
          return !p.may_move && p.offset >= span.offset && p.offset < span.end();
        }));
      ++refused;
    }
  }
  CHECK(compacted > 1000);
  CHECK(refused > 100);
}

TEST_CASE("R27: of equal compactions the lowest is chosen, and pieces outside its window stay") {
  Arena arena(10 * kGranule);
  for (int i = 0; i < 10; ++i) REQUIRE(arena.allocate(kGranule).has_value());
  std::vector<ArenaPiece> kept;
  for (Bytes i = 0; i < 10; ++i) {
    if (i % 2 == 0) {
      arena.free(i * kGranule, kGranule);
    } else {
      kept.push_back({i * kGranule, kGranule});
    }
  }
  const auto planned = arena.plan_compaction(kept, 2 * kGranule);
  const Compaction& plan = std::get<Compaction>(planned);
  REQUIRE(plan.slides.size() == 1);
  CHECK(plan.slides[0] == Slide{0, kGranule, 0, kGranule});
  CHECK(plan.window == ArenaPiece{0, 3 * kGranule});
  arena.apply(plan);
  CHECK(arena.allocate(2 * kGranule) == kGranule);

  const auto whole = arena.plan_compaction(std::span(kept).subspan(1), 3 * kGranule);
  CHECK(std::get<Compaction>(whole).copied() == 2 * kGranule);
  // Some may not move: what is between them is all there is, and the last of them is in nobody's way.
  const std::vector<ArenaPiece> few{{3 * kGranule, kGranule}, {7 * kGranule, kGranule}};
  const auto refused = arena.plan_compaction(few, 3 * kGranule);
  const Obstruction& why = std::get<Obstruction>(refused);
  CHECK(why.largest_free == 2 * kGranule);
  CHECK(why.in_the_way == std::vector<ArenaPiece>{{5 * kGranule, kGranule}});
}

TEST_CASE("an arena gives no address twice, and says which are free") {
  Arena arena(8 * kGranule);
  arena.claim(2 * kGranule, kGranule + 1);
  CHECK(arena.free_pieces() == std::vector<ArenaPiece>{{0, 2 * kGranule}, {4 * kGranule, 4 * kGranule}});
  CHECK(arena.allocated() == 2 * kGranule);
  CHECK_THROWS_AS(arena.claim(3 * kGranule, 1), std::logic_error);
  CHECK_THROWS_AS(arena.claim(kGranule, 2 * kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.claim(7 * kGranule, 2 * kGranule), std::logic_error);
  CHECK_THROWS_AS(arena.claim(1, 1), std::logic_error);
  arena.claim(0, 0);
  arena.claim(4 * kGranule, 4 * kGranule);
  arena.free(2 * kGranule, 2 * kGranule);
  CHECK(arena.free_pieces() == std::vector<ArenaPiece>{{0, 4 * kGranule}});
}

namespace {

constexpr Bytes kRegion = 6 * kMiB;

// A region of random blocks with random bytes in them, and gaps between.
struct Field {
  Field(std::uint64_t seed, std::uint64_t round)
      : random(seed + round),
        at(round % 2 == 0 ? Location::pinned_host() : Location::cuda(0)),
        apart(round / 2 % 2 != 0) {
    fill_freed_blocks(true);
    driver = std::make_shared<FaultyDriver>(make_stepped_driver({.one_allocation_per_block = apart}));
    region = Region::make(driver, at, kRegion);
    if (at.is_cuda()) stream = driver->make_stream(at, "compaction");
    std::vector<Block> all;
    for (;;) {
      // Sizes around the threshold between many small copies and a detour.
      const Bytes most = random.chance(3) ? 3 * kMiB : random.chance(2) ? 64 * kKiB : 4 * kKiB;
      std::optional<Block> block = region->try_allocate(1 + random.below(most));
      if (!block) break;
      all.push_back(std::move(*block));
    }
    for (Block& block : all) {
      if (random.chance(2)) continue;
      for (Bytes i = 0; i < block.bytes(); i += 8) {
        const std::uint64_t word = random.bits();
        std::memcpy(block.data() + i, &word, std::min<Bytes>(8, block.bytes() - i));
      }
      blocks.push_back(std::move(block));
      contents.emplace_back(blocks.back().data(), blocks.back().data() + blocks.back().bytes());
    }
  }
  bool intact() const {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (std::memcmp(blocks[i].data(), contents[i].data(), contents[i].size()) != 0) return false;
    return true;
  }
  std::vector<Block*> movable() {
    std::vector<Block*> list;
    for (Block& block : blocks) list.push_back(&block);
    return list;
  }
  std::vector<const std::byte*> addresses() const {
    std::vector<const std::byte*> list;
    for (const Block& block : blocks) list.push_back(block.data());
    return list;
  }

  test::Random random;
  Location at;
  bool apart;  // every block an allocation of its own
  std::shared_ptr<FaultyDriver> driver;
  std::shared_ptr<Region> region;
  Stream stream;
  std::vector<Block> blocks;
  std::vector<std::vector<std::byte>> contents;
};

}  // namespace

TEST_CASE(
    "R27: blocks keep their bytes when they slide, overlapping or not, and what they leave can be "
    "allocated") {
  const std::uint64_t seed = test::test_seed(270002);
  std::size_t moved = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    Field field(seed, round);
    const Bytes free = kRegion - field.region->allocated();
    if (free == 0) continue;
    const Bytes wanted = free - field.random.below(free / 4 + 1);
    const Arena before = field.region->arena();
    auto begun = field.region->relocate(field.movable(), wanted);
    REQUIRE(std::holds_alternative<Relocation>(begun));
    {
      Relocation relocation = std::move(std::get<Relocation>(begun));
      CHECK(field.region->arena().free_pieces() == before.free_pieces());
      // Somebody else may not get what it uses.
      if (relocation.bytes() != 0) CHECK_FALSE(field.region->try_allocate(wanted).has_value());
      relocation.copy(field.stream);
      relocation.commit();
      moved += relocation.bytes() != 0 ? 1 : 0;
    }
    CHECK(field.intact());
    CHECK(kRegion - field.region->allocated() == free);
    std::optional<Block> made = field.region->try_allocate(wanted);
    REQUIRE(made.has_value());
    std::memset(made->data(), 0x11, made->bytes());
    CHECK(field.intact());
  }
  CHECK(moved > 20);
}

TEST_CASE("R20: a relocation that fails at any call leaves every block with its bytes where it was") {
  const std::uint64_t seed = test::test_seed(270003);
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (const Call call : {Call::allocate, Call::copy, Call::record, Call::synchronize}) {
      for (const std::uint64_t k : {1u, 2u, 3u, 5u, 9u, 17u}) {
        CAPTURE(seed);
        CAPTURE(round);
        CAPTURE(k);
        Field field(seed, round);
        const Bytes free = kRegion - field.region->allocated();
        if (free == 0) continue;
        const auto before = field.addresses();
        const auto arena = field.region->arena().free_pieces();
        const auto failures = field.driver->failures();
        auto begun = field.region->relocate(field.movable(), free);
        REQUIRE(std::holds_alternative<Relocation>(begun));
        std::optional<Relocation> relocation = std::move(std::get<Relocation>(begun));
        field.driver->fail(call, k);
        bool failed = false;
        try {
          relocation->copy(field.stream);
        } catch (const DeviceError& error) {
          failed = true;
          CHECK(error.call != "compaction");
        } catch (const AllocationError&) {
          failed = true;
          CHECK(field.apart);
        }
        field.driver->disarm();
        CHECK(failed == (field.driver->failures() != failures));
        if (!failed) relocation->commit();
        relocation.reset();
        CHECK(field.intact());
        if (!failed) continue;
        CHECK(field.addresses() == before);
        CHECK(field.region->arena().free_pieces() == arena);
      }
    }
  }
}

TEST_CASE("R27: a relocation is refused where what is left alone keeps the free bytes apart") {
  const auto driver = make_stepped_driver();
  const auto region = Region::make(driver, Location::cuda(0), 4 * kGranule);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(region->allocate(kGranule));
  blocks[0] = {};
  blocks[2] = {};
  std::vector<Block*> movable{&blocks[3]};
  auto refused = region->relocate(movable, 2 * kGranule);
  REQUIRE(std::holds_alternative<Obstruction>(refused));
  CHECK(std::get<Obstruction>(refused).largest_free == kGranule);
  CHECK(std::get<Obstruction>(refused).in_the_way == std::vector<ArenaPiece>{{kGranule, kGranule}});
  CHECK_FALSE(region->try_allocate(2 * kGranule).has_value());
  CHECK(region->try_allocate(kGranule).has_value());
}
