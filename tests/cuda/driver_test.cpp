#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/block.hpp>
#include <fheres/memory/cuda.hpp>

#include "support/random.hpp"

using namespace fheres;
using namespace fheres::memory;
using fheres::test::test_seed;

namespace {

const Location kPageable = Location::pageable_host();
const Location kPinned = Location::pinned_host();
const Location kDevice = Location::cuda(0);

struct Storage {
  Storage(Driver& its_driver, Location where, Bytes bytes)
      : driver(its_driver), extent{where, its_driver.allocate(where, bytes), bytes} {}
  ~Storage() { driver.deallocate(extent.at, extent.data, extent.bytes); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  void randomize(std::mt19937_64& random) const {
    for (Bytes i = 0; i < extent.bytes; ++i) extent.data[i] = static_cast<std::byte>(random());
  }
  void poison() const { std::memset(extent.data, 0xa5, extent.bytes); }
  bool operator==(const Storage& other) const {
    return extent.bytes == other.extent.bytes &&
           std::memcmp(extent.data, other.extent.data, extent.bytes) == 0;
  }
  Driver& driver;
  Extent extent;
};

}  // namespace

TEST_CASE("a CUDA device is there, described and observed") {
  INFO(cuda_status());
  REQUIRE(cuda_device_count() > 0);
  const auto driver = make_cuda_driver();
  CHECK(driver->name() == "cuda");
  CHECK(driver->device_count() == cuda_device_count());
  CHECK(driver->present(kPageable));
  CHECK(driver->present(kDevice));
  CHECK_FALSE(driver->present(Location::cuda(driver->device_count())));
  CHECK_FALSE(driver->describe(kDevice).empty());
  const auto memory = driver->observe(kDevice);
  REQUIRE(memory);
  CHECK(memory->free <= memory->total);
  CHECK(memory->total > kGiB);
  CHECK_FALSE(driver->observe(kPinned));
}

TEST_CASE(
    "bytes survive the way from host to device, on the device, and back, by both kinds of host memory") {
  const auto driver = make_cuda_driver();
  const std::uint64_t seed = test_seed(std::random_device{}());
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Stream stream = driver->make_stream(kDevice, "test");
  CHECK(stream.device() == kDevice);
  for (Bytes bytes : {Bytes{1}, Bytes{4096}, Bytes{3} * kMiB + 7}) {
    for (Location host : {kPageable, kPinned}) {
      CAPTURE(bytes);
      CAPTURE(host.name());
      const Storage from(*driver, host, bytes), to(*driver, host, bytes);
      const Storage a(*driver, kDevice, bytes), b(*driver, kDevice, bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(from.extent.data) % kGranule == 0);
      CHECK(reinterpret_cast<std::uintptr_t>(a.extent.data) % kGranule == 0);
      from.randomize(random);
      to.poison();
      driver->copy(stream, a.extent, from.extent);
      driver->copy(stream, b.extent, a.extent);
      driver->copy(stream, to.extent, b.extent);
      driver->synchronize(stream);
      CHECK(to == from);
    }
  }
}

TEST_CASE("rows are copied with the pitch of each side, and what lies between them is left alone") {
  const auto driver = make_cuda_driver();
  std::mt19937_64 random(test_seed(7));
  const Stream stream = driver->make_stream(kDevice, "test");
  const Copy2D shape{5, 48, 64, 100};
  const Storage from(*driver, kPinned, 500), to(*driver, kPinned, 320), device(*driver, kDevice, 320);
  from.randomize(random);
  to.poison();
  driver->copy(stream, device.extent, to.extent);
  driver->copy_2d(stream, device.extent, from.extent, shape);
  driver->copy(stream, to.extent, device.extent);
  driver->synchronize(stream);
  for (Bytes row = 0; row < 5; ++row) {
    CHECK(std::memcmp(to.extent.data + row * 64, from.extent.data + row * 100, 48) == 0);
    for (Bytes gap = 48; gap < 64; ++gap) CHECK(to.extent.data[row * 64 + gap] == std::byte{0xa5});
  }
}

TEST_CASE("an event orders two streams, and host functions run in their stream's order") {
  const auto driver = make_cuda_driver();
  std::mt19937_64 random(test_seed(11));
  const Bytes bytes = 64 * kMiB;
  const Storage from(*driver, kPinned, bytes), to(*driver, kPinned, bytes), device(*driver, kDevice, bytes);
  for (Bytes i = 0; i < bytes; i += 4096) from.extent.data[i] = static_cast<std::byte>(random());
  const Stream in = driver->make_stream(kDevice, "in"), out = driver->make_stream(kDevice, "out");
  std::vector<int> order;
  driver->enqueue(in, [&] { order.push_back(1); });
  driver->copy(in, device.extent, from.extent);
  driver->enqueue(in, [&] { order.push_back(2); });
  const Event arrived = driver->record(in);
  driver->wait(out, arrived);
  driver->copy(out, to.extent, device.extent);
  driver->enqueue(out, [&] { order.push_back(3); });
  const Event done = driver->record(out);
  driver->synchronize(done);
  CHECK(driver->complete(arrived));
  CHECK(driver->complete(done));
  CHECK(driver->complete(Event()));
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(to == from);
  driver->synchronize_device(kDevice);
}

TEST_CASE("a region is one piece of exactly its budget, and gives no byte more") {
  const auto driver = make_cuda_driver();
  for (Location at : {kDevice, kPinned}) {
    const auto region = Region::make(driver, at, 40 * kMiB);
    Block most = region->allocate(40 * kMiB - kGranule);
    Block last = region->allocate(1);
    CHECK(region->allocated() == 40 * kMiB);
    CHECK_THROWS_AS(region->allocate(1), AllocationError);
    last = Block();
    CHECK(region->largest_free() == kGranule);
    CHECK_NOTHROW(region->allocate(kGranule));
  }
}

TEST_CASE("what the device has no room for is an allocation error, and the next call is not blamed for it") {
  const auto driver = make_cuda_driver();
  CHECK_THROWS_AS(driver->allocate(kDevice, Bytes{1} << 50), AllocationError);
  CHECK_THROWS_AS(driver->allocate(kPinned, Bytes{1} << 46), AllocationError);
  const auto apart = make_cuda_driver({.one_allocation_per_block = true});
  CHECK_THROWS_AS(apart->allocate(kDevice, Bytes{1} << 50), AllocationError);
  CHECK_THROWS_AS(Region::make(driver, kDevice, Bytes{1} << 50), AllocationError);
  const Stream stream = driver->make_stream(kDevice, "test");
  CHECK_NOTHROW(driver->synchronize(stream));
}

TEST_CASE("arguments that make no sense are refused before anything is queued") {
  const auto driver = make_cuda_driver();
  const Stream stream = driver->make_stream(kDevice, "test");
  const Storage a(*driver, kDevice, 512), b(*driver, kPinned, 512), c(*driver, kPageable, 512);
  const Location absent = Location::cuda(driver->device_count());
  CHECK_THROWS_AS(driver->allocate(absent, 1), std::invalid_argument);
  CHECK_THROWS_AS(driver->make_stream(absent, "no"), std::invalid_argument);
  CHECK_THROWS_AS(driver->make_stream(kPinned, "no"), std::invalid_argument);
  CHECK_THROWS_AS(driver->record(Stream()), std::invalid_argument);
  CHECK_THROWS_AS(driver->enqueue(Stream(), [] {}), std::invalid_argument);
  CHECK_THROWS_AS(driver->copy(stream, a.extent, {kPinned, b.extent.data, 511}), std::invalid_argument);
  CHECK_THROWS_AS(driver->copy(stream, b.extent, c.extent), std::invalid_argument);
  CHECK_THROWS_AS(driver->copy_host(a.extent, c.extent), std::invalid_argument);
  CHECK_THROWS_AS(driver->copy_2d(stream, a.extent, b.extent, Copy2D{2, 10, 9, 10}), std::invalid_argument);
  CHECK_THROWS_AS(driver->synchronize_device(kPinned), std::invalid_argument);
}

TEST_CASE("work of a stream that lost its last handle still runs") {
  const auto driver = make_cuda_driver();
  bool ran = false;
  {
    const Stream brief = driver->make_stream(kDevice, "brief");
    driver->enqueue(brief, [&ran] { ran = true; });
  }
  driver->synchronize_device(kDevice);
  CHECK(ran);
}

TEST_CASE("a driver can be made for named devices, and not for one that is not there") {
  const auto driver = make_cuda_driver({.devices = {0}});
  CHECK(driver->device_count() == 1);
  CHECK_FALSE(driver->present(Location::cuda(1)));
  CHECK_THROWS_AS(make_cuda_driver({.devices = {cuda_device_count()}}), DeviceError);
  CHECK_THROWS_AS(make_cuda_driver({.devices = {-1}}), DeviceError);
}

TEST_CASE(
    "with one allocation a block, blocks keep their bytes through a compaction, and budgets are as they "
    "were") {
  const auto driver = make_cuda_driver({.one_allocation_per_block = true});
  CHECK(driver->one_allocation_per_block(kDevice));
  CHECK_FALSE(driver->one_allocation_per_block(kPinned));
  std::mt19937_64 random(test_seed(13));
  const Stream stream = driver->make_stream(kDevice, "test");
  const auto region = Region::make(driver, kDevice, 8 * kMiB);
  const Storage from(*driver, kPinned, 8 * kMiB), to(*driver, kPinned, 8 * kMiB);
  from.randomize(random);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(region->allocate(kMiB - static_cast<Bytes>(i)));
    CHECK(region->offset_of(blocks.back()) == static_cast<Bytes>(i) * kMiB);
    const Bytes bytes = blocks.back().bytes();
    driver->copy(stream, blocks.back().extent(), {kPinned, from.extent.data + i * kMiB, bytes});
  }
  CHECK_THROWS_AS(region->allocate(1), AllocationError);
  driver->synchronize(stream);
  for (const std::size_t gone : {0, 2, 4, 6}) blocks[gone] = Block();
  std::vector<Block*> movable;
  for (const std::size_t kept : {1, 3, 5, 7}) movable.push_back(&blocks[kept]);
  auto planned = region->relocate(movable, 4 * kMiB);
  auto& relocation = std::get<Relocation>(planned);
  relocation.copy(stream);
  relocation.commit();
  CHECK(region->largest_free() == 4 * kMiB);
  for (const std::size_t kept : {1, 3, 5, 7}) {
    const Block& block = blocks[kept];
    driver->copy(stream, {kPinned, to.extent.data, block.bytes()}, block.extent());
    driver->synchronize(stream);
    CHECK(std::memcmp(to.extent.data, from.extent.data + kept * kMiB, block.bytes()) == 0);
  }
}
