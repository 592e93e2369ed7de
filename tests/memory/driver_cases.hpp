#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/base/clock.hpp>
#include <fheres/memory/driver.hpp>

#include "support/random.hpp"

namespace fheres::test {

/// What every driver with host-addressable storage and at least two devices must do, whenever its work completes.
inline void check_driver_contract(memory::Driver& driver) {
  using memory::Copy2D;
  using memory::Extent;
  using memory::Location;
  const Location pageable = Location::pageable_host();
  const Location pinned = Location::pinned_host();
  const Location device = Location::cuda(0);
  const Location other = Location::cuda(1);
  REQUIRE(driver.device_count() == 2);
  CHECK(driver.present(pageable));
  CHECK(driver.present(pinned));
  CHECK(driver.present(other));
  CHECK_FALSE(driver.present(Location::cuda(2)));
  CHECK_FALSE(driver.describe(device).empty());

  struct Storage {
    Storage(memory::Driver& its_driver, Location where, Bytes bytes)
        : driver(its_driver), extent{where, its_driver.allocate(where, bytes), bytes} {}
    ~Storage() { driver.deallocate(extent.at, extent.data, extent.bytes); }
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    memory::Driver& driver;
    Extent extent;
  };
  constexpr Bytes kSize = 3 * kGranule;
  Storage a(driver, pageable, kSize), b(driver, pinned, kSize), c(driver, device, kSize),
      d(driver, other, kSize);
  Random random(5);
  for (Bytes i = 0; i < kSize; ++i) a.extent.data[i] = static_cast<std::byte>(random.bits());
  const auto same_as_a = [&](const Extent& extent) {
    return std::memcmp(a.extent.data, extent.data, kSize) == 0;
  };

  // Host to host is complete on return; a chain over two devices is ordered by its events.
  driver.copy_host(b.extent, a.extent);
  CHECK(same_as_a(b.extent));
  const memory::Stream stream = driver.make_stream(device, "one");
  const memory::Stream next = driver.make_stream(other, "two");
  CHECK(stream.device() == device);
  CHECK_FALSE(stream == next);
  driver.copy(stream, c.extent, b.extent);
  const memory::Event copied = driver.record(stream);
  driver.wait(next, copied);
  driver.copy(next, d.extent, c.extent);
  const memory::Event done = driver.record(next);
  driver.synchronize(done);
  CHECK(driver.complete(copied));
  CHECK(driver.complete(done));
  CHECK(same_as_a(d.extent));

  // An event that keeps its time says when its stream got there, on the host's clock; what has not come has no time.
  const std::int64_t begun = now_ns();
  const memory::Event before = driver.record_timed(stream);
  driver.copy(stream, c.extent, b.extent);
  const memory::Event after = driver.record_timed(stream);
  driver.synchronize(stream);
  constexpr std::int64_t kClocksApart = 1'000'000;
  CHECK(driver.time_ns(before) >= begun - kClocksApart);
  CHECK(driver.time_ns(before) <= driver.time_ns(after));
  CHECK(driver.time_ns(after) <= now_ns() + kClocksApart);
  CHECK_THROWS_AS((void)driver.time_ns(memory::Event()), std::invalid_argument);

  // Functions run in the order of their stream.
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) driver.enqueue(stream, [&order, i] { order.push_back(i); });
  driver.synchronize(stream);
  REQUIRE(order.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);

  // Rows with different pitches; bytes between the rows stay.
  std::memset(c.extent.data, 0, kSize);
  driver.copy_2d(stream, c.extent, a.extent, Copy2D{3, 10, 100, 50});
  driver.synchronize_device(device);
  for (Bytes row = 0; row < 3; ++row) {
    CHECK(std::memcmp(c.extent.data + row * 100, a.extent.data + row * 50, 10) == 0);
    CHECK(c.extent.data[row * 100 + 10] == std::byte{0});
  }
  driver.copy_2d(stream, c.extent, a.extent, Copy2D{0, 10, 100, 50});
  driver.copy(stream, {device, c.extent.data, 0}, {pinned, b.extent.data, 0});
  driver.synchronize(stream);

  // An empty event is complete; waiting for it is nothing.
  CHECK(driver.complete(memory::Event()));
  driver.synchronize(memory::Event());
  driver.wait(stream, memory::Event());

  // Arguments that make no sense are refused before anything is queued.
  CHECK_THROWS_AS(driver.make_stream(pinned, "no"), std::invalid_argument);
  CHECK_THROWS_AS(driver.make_stream(Location::cuda(2), "no"), std::invalid_argument);
  CHECK_THROWS_AS(driver.record(memory::Stream()), std::invalid_argument);
  CHECK_THROWS_AS(driver.wait(memory::Stream(), copied), std::invalid_argument);
  CHECK_THROWS_AS(driver.enqueue(memory::Stream(), [] {}), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy(stream, c.extent, {pinned, b.extent.data, kSize - 1}), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy(stream, b.extent, a.extent), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy(stream, d.extent, a.extent), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy_host(c.extent, a.extent), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy_2d(stream, c.extent, a.extent, Copy2D{2, 10, 9, 10}), std::invalid_argument);
  CHECK_THROWS_AS(driver.copy_2d(stream, c.extent, a.extent, Copy2D{2, 10, kSize - 9, 10}),
                  std::invalid_argument);
  CHECK_THROWS_AS(driver.synchronize_device(pinned), std::invalid_argument);
  CHECK_THROWS_AS(driver.allocate(Location::cuda(2), 1), std::invalid_argument);

  // Work of a stream that lost its last handle still runs.
  bool ran = false;
  {
    const memory::Stream brief = driver.make_stream(device, "brief");
    driver.enqueue(brief, [&ran] { ran = true; });
  }
  driver.synchronize_device(device);
  CHECK(ran);
}

}  // namespace fheres::test
