#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/block.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/memory/poison.hpp>

#include "support/faulty_driver.hpp"
#include "support/random.hpp"

using namespace fheres;
using memory::AllocationError;
using memory::Block;
using memory::Location;
using memory::Region;

namespace {

const Location kPageable = Location::pageable_host();
const Location kPinned = Location::pinned_host();
const Location kDevice = Location::cuda(0);

}  // namespace

TEST_CASE("R8 a block has one owner: it moves, is empty after a move, and returns its piece once") {
  static_assert(!std::is_copy_constructible_v<Block> && !std::is_copy_assignable_v<Block>);
  static_assert(std::is_nothrow_move_constructible_v<Block> && std::is_nothrow_move_assignable_v<Block>);
  const auto region = Region::make(memory::make_emulated_driver(), kDevice, 4 * kGranule);
  Block a = region->allocate(kGranule);
  const std::byte* where = a.data();
  CHECK(a.at() == kDevice);
  CHECK(region->allocated() == kGranule);

  Block b = std::move(a);
  CHECK_FALSE(a);
  CHECK(a.data() == nullptr);
  CHECK(a.bytes() == 0);
  CHECK(b.data() == where);
  CHECK(region->allocated() == kGranule);

  Block c = region->allocate(2 * kGranule);
  CHECK(region->allocated() == 3 * kGranule);
  c = std::move(b);  // what c held goes back
  CHECK(c.data() == where);
  CHECK(region->allocated() == kGranule);
  Block& same = c;
  c = std::move(same);
  CHECK(c.data() == where);
  c = Block();
  CHECK(region->allocated() == 0);
}

TEST_CASE("R8 live blocks of a region never share a byte and are aligned to granules") {
  const std::uint64_t seed = test::test_seed(7);
  CAPTURE(seed);
  for (const Location at : {kPageable, kPinned, kDevice}) {
    test::Random random(seed);
    const auto region = Region::make(memory::make_emulated_driver(), at, 64 * kGranule);
    std::vector<std::pair<Block, unsigned char>> live;
    for (int i = 0; i < 400; ++i) {
      if (random.below(2) == 0 && !live.empty()) {
        const std::size_t which = random.below(live.size());
        const auto& [block, mark] = live[which];
        for (Bytes b = 0; b < block.bytes(); ++b) REQUIRE(block.data()[b] == std::byte{mark});
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      try {
        Block block = region->allocate(1 + random.below(8 * kGranule));
        REQUIRE(reinterpret_cast<std::uintptr_t>(block.data()) % kGranule == 0);
        const auto mark = static_cast<unsigned char>(i);
        std::memset(block.data(), mark, block.bytes());
        live.emplace_back(std::move(block), mark);
      } catch (const AllocationError&) {
      }
      REQUIRE(region->allocated() <= 64 * kGranule);
    }
    live.clear();
    CHECK(region->allocated() == 0);
    CHECK(region->largest_free() == 64 * kGranule);
  }
}

TEST_CASE("a budgeted region takes its room once and cannot be exceeded") {
  const auto driver = std::make_shared<test::FaultyDriver>(memory::make_emulated_driver());
  for (const Location at : {kPinned, kDevice}) {
    const std::uint64_t before = driver->calls(test::Call::allocate);
    const auto region = Region::make(driver, at, 4 * kGranule);
    std::vector<Block> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(region->allocate(kGranule - 1));
    CHECK(driver->calls(test::Call::allocate) == before + 1);
    CHECK(region->largest_free() == 0);
    CHECK_THROWS_AS(region->allocate(1), AllocationError);
    blocks.erase(blocks.begin() + 2);
    blocks.erase(blocks.begin());
    try {
      const Block block = region->allocate(2 * kGranule);
      FAIL("two pieces are not one");
    } catch (const AllocationError& error) {
      CHECK(error.code() == "memory/allocation");
      CHECK(error.at == at);
      CHECK(error.requested == 2 * kGranule);
      CHECK(std::string(error.what()) ==
            at.name() + " has no room for 512 B: 512 B are free, the largest piece is 256 B");
    }
  }
}

TEST_CASE("a budgeted pageable region counts bytes and has no pieces to break into") {
  const auto region = Region::make(memory::make_emulated_driver(), kPageable, 4 * kGranule + 10);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(region->allocate(kGranule));
  CHECK_THROWS_AS(region->allocate(1), AllocationError);
  blocks.erase(blocks.begin() + 2);
  blocks.erase(blocks.begin());
  CHECK(region->largest_free() == 2 * kGranule);
  CHECK(region->allocate(2 * kGranule).bytes() == 2 * kGranule);
}

TEST_CASE("a budget of zero has room for nothing but blocks of zero bytes") {
  for (const Location at : {kPageable, kPinned, kDevice}) {
    const auto region = Region::make(memory::make_emulated_driver(), at, 0);
    CHECK_THROWS_AS(region->allocate(1), AllocationError);
    const Block block = region->allocate(0);
    CHECK(block);
    CHECK(block.bytes() == 0);
    CHECK(block.at() == at);
    CHECK(region->allocated() == 0);
    CHECK(region->largest_free() == 0);
  }
}

TEST_CASE("an unbudgeted region grows by chunks, keeps them, and gives large blocks their own") {
  const auto driver = std::make_shared<test::FaultyDriver>(memory::make_emulated_driver());
  const auto region = Region::make(driver, kDevice, std::nullopt);
  CHECK(driver->calls(test::Call::allocate) == 0);
  CHECK_FALSE(region->capacity().has_value());
  {
    const Block small = region->allocate(kMiB);
    const Block more = region->allocate(63 * kMiB);
    CHECK(driver->calls(test::Call::allocate) == 1);
    const Block large = region->allocate(100 * kMiB);
    CHECK(driver->calls(test::Call::allocate) == 2);
    CHECK(region->allocated() == 164 * kMiB);
  }
  CHECK(region->allocated() == 0);
  CHECK(region->peak_allocated() == 164 * kMiB);
  const Block again = region->allocate(90 * kMiB);
  CHECK(driver->calls(test::Call::allocate) == 2);

  const auto pageable = Region::make(driver, kPageable, std::nullopt);
  const Block one = pageable->allocate(10);
  const Block two = pageable->allocate(10);
  CHECK(driver->calls(test::Call::allocate) == 4);
  CHECK(pageable->allocated() == 2 * kGranule);
}

TEST_CASE("a region whose driver has no room says so and is as before") {
  const auto driver = std::make_shared<test::FaultyDriver>(memory::make_emulated_driver());
  driver->fail(test::Call::allocate, 1);
  CHECK_THROWS_AS(Region::make(driver, kDevice, kMiB), AllocationError);
  for (const Location at : {kPageable, kPinned, kDevice}) {
    const auto region = Region::make(driver, at, std::nullopt);
    driver->fail(test::Call::allocate, 1);
    CHECK_THROWS_AS(region->allocate(10), AllocationError);
    CHECK(region->allocated() == 0);
    CHECK(region->allocate(10).bytes() == 10);
  }
  CHECK_THROWS_AS(Region::make(driver, Location::cuda(1), kMiB), std::invalid_argument);
  CHECK_THROWS_AS(Region::make(nullptr, kPageable, std::nullopt), std::invalid_argument);
}

TEST_CASE("a block keeps its region, and the region its driver") {
  Block block;
  {
    const auto region = Region::make(memory::make_emulated_driver(), kDevice, kMiB);
    block = region->allocate(100);
  }
  std::memset(block.data(), 1, block.bytes());
  CHECK(block.region()->allocated() == kGranule);
}

TEST_CASE("a freed block is overwritten where filling is on") {
  const bool before = memory::fills_freed_blocks();
  memory::fill_freed_blocks(true);
  const auto region = Region::make(memory::make_emulated_driver(), kDevice, kMiB);
  std::byte* data = nullptr;
  {
    const Block block = region->allocate(300);
    data = block.data();
    std::memset(data, 1, 300);
  }
  memory::unpoison(data, 300);
  for (int i = 0; i < 300; ++i) REQUIRE(data[i] == memory::kPoison);
  memory::fill_freed_blocks(before);
}

TEST_CASE("a region serves several threads") {
  const auto region = Region::make(memory::make_emulated_driver(), kDevice, 1024 * kGranule);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&region, t] {
      test::Random random(static_cast<std::uint64_t>(t));
      std::vector<Block> blocks;
      for (int i = 0; i < 500; ++i) {
        if (blocks.size() < 20 && random.below(3) != 0) {
          blocks.push_back(region->allocate(1 + random.below(10 * kGranule)));
          std::memset(blocks.back().data(), t, blocks.back().bytes());
        } else if (!blocks.empty()) {
          blocks.pop_back();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(region->allocated() == 0);
  CHECK(region->largest_free() == 1024 * kGranule);
}

TEST_CASE(
    "with one allocation a block, each block is the driver's own, and budgets and addresses stay as they "
    "were") {
  const std::uint64_t seed = test::test_seed(270004);
  CAPTURE(seed);
  test::Random random(seed);
  for (const Location at : {kPinned, kDevice}) {
    const auto faulty = std::make_shared<test::FaultyDriver>(
        memory::make_stepped_driver({.device_bytes = kMiB, .one_allocation_per_block = true}));
    const auto apart = Region::make(faulty, at, 64 * kGranule);
    const auto together = Region::make(memory::make_stepped_driver(), at, 64 * kGranule);
    CHECK(faulty->calls(test::Call::allocate) == 0);
    std::vector<Block> mine, reference;
    std::uint64_t made = 0;
    for (int step = 0; step < 400; ++step) {
      if (!mine.empty() && random.chance(3)) {
        const std::size_t which = random.below(mine.size());
        mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
        reference.erase(reference.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const Bytes bytes = random.below(8 * kGranule);
        std::optional<Block> block = apart->try_allocate(bytes), other = together->try_allocate(bytes);
        REQUIRE(block.has_value() == other.has_value());
        if (!block) continue;
        made += bytes == 0 ? 0 : 1;
        if (bytes != 0) std::memset(block->data(), 0x5a, bytes);
        REQUIRE(apart->offset_of(*block) == together->offset_of(*other));
        mine.push_back(std::move(*block));
        reference.push_back(std::move(*other));
      }
      REQUIRE(apart->arena().free_pieces() == together->arena().free_pieces());
      REQUIRE(apart->allocated() == together->allocated());
    }
    CHECK(faulty->calls(test::Call::allocate) == made);
    faulty->fail(test::Call::allocate, 1);
    mine.clear();
    CHECK_THROWS_AS(apart->allocate(kGranule), AllocationError);
    CHECK(apart->allocated() == 0);
    CHECK(apart->largest_free() == 64 * kGranule);
    if (at == kDevice) CHECK(faulty->observe(at)->free == kMiB);
  }
  const auto driver =
      std::make_shared<test::FaultyDriver>(memory::make_emulated_driver({.one_allocation_per_block = true}));
  const auto endless = Region::make(driver, kDevice, std::nullopt);
  const Block a = endless->allocate(kGranule), b = endless->allocate(kGranule);
  CHECK(driver->calls(test::Call::allocate) == 2);
}
