#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "memory/driver_cases.hpp"

using namespace fheres;
using memory::Location;
using memory::Stream;

namespace {

const Location kStepped = Location::cuda(0);

std::string interleaving(std::uint64_t seed) {
  const auto driver = memory::make_stepped_driver({.seed = seed});
  const Stream one = driver->make_stream(kStepped, "one");
  const Stream two = driver->make_stream(kStepped, "two");
  std::string order;
  for (int i = 0; i < 8; ++i) {
    driver->enqueue(one, [&order] { order += '1'; });
    driver->enqueue(two, [&order] { order += '2'; });
  }
  driver->run_until_idle();
  return order;
}

}  // namespace

TEST_CASE("the stepped driver keeps the driver's contract, whatever synchronize runs") {
  for (const bool only_needed : {false, true}) {
    const auto driver =
        memory::make_stepped_driver({.devices = 2, .synchronize_only_what_is_needed = only_needed});
    CHECK(driver->name() == "stepped");
    test::check_driver_contract(*driver);
  }
}

TEST_CASE("nothing of a stepped stream happens before a step, and each step completes one operation") {
  const auto driver = memory::make_stepped_driver();
  const Stream stream = driver->make_stream(kStepped, "s");
  int ran = 0;
  driver->enqueue(stream, [&] { ++ran; });
  const memory::Event event = driver->record(stream);
  CHECK(ran == 0);
  CHECK(driver->submitted(stream) == 2);
  CHECK(driver->executed(stream) == 0);
  CHECK(driver->step());
  CHECK(ran == 1);
  CHECK_FALSE(driver->complete(event));
  CHECK(driver->step(stream));
  CHECK(driver->complete(event));
  CHECK_FALSE(driver->step());
  CHECK_FALSE(driver->step(stream));
  CHECK(driver->executed(stream) == 2);
  CHECK(driver->run_until_idle() == 0);
}

TEST_CASE("the seed decides how two stepped streams interleave") {
  CHECK(interleaving(1) == interleaving(1));
  CHECK(interleaving(1).size() == 16);
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 10; ++seed) differs = differs || interleaving(seed) != interleaving(1);
  CHECK(differs);
}

TEST_CASE("a held stepped stream runs nothing until it is let go") {
  const auto driver = memory::make_stepped_driver();
  const Stream held = driver->make_stream(kStepped, "held");
  const Stream other = driver->make_stream(kStepped, "other");
  int held_ran = 0, other_ran = 0;
  driver->hold(held);
  driver->enqueue(held, [&] { ++held_ran; });
  driver->enqueue(other, [&] { ++other_ran; });
  const memory::Event from_held = driver->record(held);
  driver->wait(other, from_held);
  driver->enqueue(other, [&] { ++other_ran; });
  CHECK(driver->run_until_idle() == 1);
  CHECK(other_ran == 1);
  CHECK(held_ran == 0);
  CHECK_FALSE(driver->step(other));
  CHECK_THROWS_AS(driver->synchronize(from_held), std::logic_error);
  CHECK_THROWS_AS(driver->synchronize(other), std::logic_error);
  driver->let_go(held);
  driver->synchronize(other);
  CHECK(held_ran == 1);
  CHECK(other_ran == 2);
}

TEST_CASE("a synchronize that runs only what is needed leaves other streams where they are") {
  const auto driver = memory::make_stepped_driver({.synchronize_only_what_is_needed = true});
  const Stream one = driver->make_stream(kStepped, "one");
  const Stream two = driver->make_stream(kStepped, "two");
  const Stream three = driver->make_stream(kStepped, "three");
  int one_ran = 0, two_ran = 0, three_ran = 0;
  driver->enqueue(one, [&] { ++one_ran; });
  driver->enqueue(three, [&] { ++three_ran; });
  driver->wait(two, driver->record(one));
  driver->enqueue(one, [&] { ++one_ran; });  // after the event, so not needed
  driver->enqueue(two, [&] { ++two_ran; });
  const memory::Event event = driver->record(two);
  driver->enqueue(two, [&] { ++two_ran; });
  driver->synchronize(event);
  CHECK(one_ran == 1);
  CHECK(two_ran == 1);
  CHECK(three_ran == 0);
  driver->synchronize_device(kStepped);
  CHECK(one_ran + two_ran + three_ran == 5);
}

TEST_CASE("the stepped driver counts the copies that have not run") {
  const auto driver = memory::make_stepped_driver();
  const Stream stream = driver->make_stream(kStepped, "s");
  std::byte* device = driver->allocate(kStepped, 10);
  std::byte* pinned = driver->allocate(Location::pinned_host(), 10);
  pinned[3] = std::byte{42};
  driver->enqueue(stream, [] {});
  driver->copy(stream, {kStepped, device, 10}, {Location::pinned_host(), pinned, 10});
  CHECK(driver->queued_copies() == 1);
  driver->step();
  CHECK(driver->queued_copies() == 1);
  driver->step();
  CHECK(driver->queued_copies() == 0);
  CHECK(device[3] == std::byte{42});
  driver->deallocate(kStepped, device, 10);
  driver->deallocate(Location::pinned_host(), pinned, 10);
}
