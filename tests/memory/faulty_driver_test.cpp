#include "support/faulty_driver.hpp"

#include <string>

#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

using namespace fheres;
using memory::Location;
using test::Call;
using test::FaultyDriver;

TEST_CASE("a faulty driver fails the chosen call of its kind once, before it does anything") {
  const auto stepped = memory::make_stepped_driver();
  FaultyDriver driver(stepped);
  const memory::Stream stream = driver.make_stream(Location::cuda(0), "s");
  bool ran = false;
  driver.fail(Call::enqueue, 2);
  driver.fail(Call::record, 1);
  driver.enqueue(stream, [] {});
  CHECK_THROWS_AS(driver.enqueue(stream, [&] { ran = true; }), memory::DeviceError);
  CHECK_THROWS_AS(driver.record(stream), memory::DeviceError);
  CHECK(stepped->submitted(stream) == 1);
  driver.enqueue(stream, [] {});
  driver.synchronize(driver.record(stream));
  CHECK_FALSE(ran);
  CHECK(driver.calls(Call::enqueue) == 3);
  CHECK(driver.calls(Call::record) == 2);
  CHECK(driver.failures() == 2);
}

TEST_CASE("a faulty driver's errors are the ones of a real machine") {
  FaultyDriver driver(memory::make_stepped_driver());
  driver.fail(Call::allocate, 1);
  try {
    driver.allocate(Location::cuda(0), 77);
    FAIL("the allocation worked");
  } catch (const memory::AllocationError& error) {
    CHECK(error.code() == "memory/allocation");
    CHECK(error.at == Location::cuda(0));
    CHECK(error.requested == 77);
    CHECK(std::string(error.what()) == "cuda:0 has no room for 77 B: injected");
  }
  driver.fail(Call::copy, 1);
  try {
    driver.copy_host({}, {});
    FAIL("the copy worked");
  } catch (const memory::DeviceError& error) {
    CHECK(error.code() == "memory/device");
    CHECK(error.call == "copy_host");
    CHECK(std::string(error.what()) == "copy_host failed: injected");
  }
  driver.fail(Call::copy, 1);
  driver.disarm();
  CHECK_NOTHROW(driver.copy_host({}, {}));
}
