#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "memory/driver_cases.hpp"
#include "support/stream_gate.hpp"

using namespace fheres;
using memory::Location;

TEST_CASE("the threaded emulated driver keeps the driver's contract") {
  const auto driver = memory::make_emulated_driver({.devices = 2});
  CHECK(driver->name() == "emulated");
  CHECK(driver->describe(Location::cuda(1)) == "emulated device");
  test::check_driver_contract(*driver);
}

TEST_CASE("an emulated stream goes on while its caller does not wait, and an event says how far it is") {
  const auto driver = memory::make_emulated_driver();
  const memory::Stream stream = driver->make_stream(Location::cuda(0), "held");
  std::atomic<int> ran{0};
  const memory::Event before = driver->record(stream);
  test::StreamGate gate(*driver, stream);
  driver->enqueue(stream, [&] { ++ran; });
  const memory::Event after = driver->record(stream);
  driver->synchronize(before);
  gate.wait_until_reached();
  CHECK(driver->complete(before));
  CHECK_FALSE(driver->complete(after));
  CHECK(ran == 0);
  gate.open();
  driver->synchronize(after);
  CHECK(ran == 1);
}

TEST_CASE("two emulated streams are unordered unless an event orders them") {
  const auto driver = memory::make_emulated_driver();
  const memory::Stream one = driver->make_stream(Location::cuda(0), "one");
  const memory::Stream two = driver->make_stream(Location::cuda(0), "two");
  std::vector<int> order;
  test::StreamGate gate(*driver, one);
  std::atomic<bool> free_ran{false};
  driver->enqueue(two, [&] { free_ran = true; });
  driver->synchronize(two);  // nothing orders it after the gate
  CHECK(free_ran);
  driver->enqueue(one, [&] { order.push_back(1); });
  driver->wait(two, driver->record(one));
  driver->enqueue(two, [&] { order.push_back(2); });
  const memory::Event end = driver->record(two);
  CHECK_FALSE(driver->complete(end));
  gate.open();
  driver->synchronize(end);
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("emulated device memory is bounded where a size is given, and observed") {
  const auto driver = memory::make_emulated_driver({.devices = 2, .device_bytes = 4 * kMiB});
  const Location device = Location::cuda(0);
  CHECK(driver->observe(device)->total == 4 * kMiB);
  CHECK(driver->observe(device)->free == 4 * kMiB);
  CHECK_FALSE(driver->observe(Location::pinned_host()).has_value());
  CHECK_FALSE(driver->observe(Location::cuda(5)).has_value());
  std::byte* data = driver->allocate(device, 3 * kMiB);
  CHECK(driver->observe(device)->free == kMiB);
  CHECK(driver->observe(Location::cuda(1))->free == 4 * kMiB);
  try {
    driver->allocate(device, kMiB + 1);
    FAIL("there is no such room");
  } catch (const memory::AllocationError& error) {
    CHECK(error.at == device);
    CHECK(error.requested == kMiB + 1);
  }
  driver->deallocate(device, data, 3 * kMiB);
  CHECK(driver->observe(device)->free == 4 * kMiB);
  CHECK_FALSE(memory::make_emulated_driver()->observe(device).has_value());
}

TEST_CASE("emulated device memory may be far larger than the host") {
  const auto driver = memory::make_emulated_driver();
  const Bytes bytes = 256 * kGiB;
  std::byte* data = driver->allocate(Location::cuda(0), bytes);
  data[0] = std::byte{1};
  data[bytes - 1] = std::byte{2};
  CHECK(data[bytes - 1] == std::byte{2});
  driver->deallocate(Location::cuda(0), data, bytes);
}

TEST_CASE("an emulated machine may have no device, and no more than 128") {
  const auto driver = memory::make_emulated_driver({.devices = 0});
  CHECK_FALSE(driver->present(Location::cuda(0)));
  CHECK(driver->present(Location::pinned_host()));
  CHECK_THROWS_AS(memory::make_emulated_driver({.devices = 129}), std::invalid_argument);
  CHECK_THROWS_AS(memory::make_emulated_driver({.devices = -1}), std::invalid_argument);
}

TEST_CASE("several threads may use one emulated stream") {
  const auto driver = memory::make_emulated_driver();
  const memory::Stream stream = driver->make_stream(Location::cuda(0), "shared");
  int ran = 0;  // only the stream's thread touches it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) driver->enqueue(stream, [&ran] { ++ran; });
      driver->synchronize(driver->record(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  driver->synchronize_device(Location::cuda(0));
  CHECK(ran == 200);
}

TEST_CASE("work may own the last handle of its own stream") {
  const auto driver = memory::make_emulated_driver();
  memory::Event event;
  {
    const memory::Stream stream = driver->make_stream(Location::cuda(0), "own");
    test::StreamGate gate(*driver, stream);
    driver->enqueue(stream, [stream] {});
    event = driver->record(stream);
  }
  driver->synchronize(event);
  CHECK(driver->complete(event));
}

TEST_CASE("work may drop the last handle of a stream that waits for what comes after that work") {
  const auto driver = memory::make_emulated_driver();
  const memory::Stream one = driver->make_stream(Location::cuda(0), "one");
  std::atomic<int> ran{0};
  {
    test::StreamGate gate(*driver, one);
    memory::Stream two = driver->make_stream(Location::cuda(0), "two");
    driver->enqueue(one, [two] {});
    driver->enqueue(one, [&] { ++ran; });
    driver->wait(two, driver->record(one));
    driver->enqueue(two, [&] { ran += 10; });
    two = {};
    gate.open();
  }
  driver->synchronize(one);
  CHECK(ran % 10 == 1);
  driver->synchronize_device(Location::cuda(0));  // also of the stream that nobody has a handle of
  CHECK(ran == 11);
}
