// What a consumer stream may still read is neither freed nor reused nor moved, however late the stream is.
#include <atomic>
#include <cstring>
#include <thread>

#include <doctest/doctest.h>

#include <fheres/memory/poison.hpp>

#include "residency/world.hpp"
#include "support/random.hpp"
#include "support/stream_gate.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using fheres::test::StreamGate;

namespace {

struct PoisonedFrees {
  PoisonedFrees() { memory::fill_freed_blocks(true); }
  ~PoisonedFrees() { memory::fill_freed_blocks(before); }
  const bool before = memory::fills_freed_blocks();
};

bool all_are(const BlockView& view, unsigned char fill) {
  for (Bytes i = 0; i < view.bytes; ++i)
    if (view.data[i] != std::byte{fill}) return false;
  return true;
}

HandleId put_at(Manager& manager, const std::string& name, Bytes bytes, unsigned char fill) {
  Allocation block = manager.allocate(kPageable, bytes);
  std::memset(block.data(), fill, bytes);
  return manager.adopt(std::move(block), kPageable, make_spec(name, bytes));
}

}  // namespace

TEST_CASE(
    "R32, R35: a block with two late consumers is not freed, reused or slid before the last has read it") {
  const PoisonedFrees poisoned;
  const auto driver = memory::make_emulated_driver();
  ManagerOptions options;
  options.budgets = {{kDevice, 4 * 1024}};
  Manager manager(driver, options);
  const HandleId low = put_at(manager, "low", 1024, 1);
  const HandleId x = put_at(manager, "x", 1024, 2);
  const HandleId high = put_at(manager, "high", 1024, 3);
  const HandleId big = put_at(manager, "big", 2048, 4);
  for (const HandleId value : {low, x, high}) manager.ensure(value, kDevice);
  manager.drop(low, kDevice);  // a gap below x, another above high

  const memory::Stream one = driver->make_stream(kDevice, "one");
  const memory::Stream two = driver->make_stream(kDevice, "two");
  StreamGate first(*driver, one), second(*driver, two);
  std::atomic<int> right{0}, wrong{0};
  {
    Lease lease = manager.acquire({x}, kDevice, one);
    lease.add_consumer_stream(two);
    const BlockView view = lease.view(x);
    for (const memory::Stream& stream : {one, two})
      driver->enqueue(stream, [view, &right, &wrong] { ++(all_are(view, 2) ? right : wrong); });
  }
  const auto refused_everywhere = [&] {
    CHECK_THROWS_AS(manager.drop(x, kDevice), InUseError);
    CHECK_THROWS_AS(manager.move(x, kPinned, kDevice), InUseError);
    CHECK_THROWS_AS(manager.discard(x), InUseError);
    CHECK_THROWS_AS(manager.close(false), InUseError);
    CHECK_THROWS_AS(manager.ensure(big, kDevice), FragmentedError);  // it would have to slide
    CHECK(manager.snapshot().values.at(x.serial).materializations.back().protection.pending == 1);
  };
  first.wait_until_reached();
  second.wait_until_reached();
  refused_everywhere();
  first.open();
  driver->synchronize(one);
  CHECK(right == 1);
  refused_everywhere();
  // What is free may be used meanwhile.
  manager.ensure(low, kDevice);
  manager.drop(low, kDevice);
  second.open();
  driver->synchronize(two);
  CHECK(right == 2);
  CHECK(wrong == 0);
  CHECK(manager.ensure(big, kDevice, {}).bytes == 2048);  // now x slides
  CHECK_NOTHROW(manager.drop(x, kDevice));
}

TEST_CASE("R39: exit waits for late consumers of what it removes, and holds no lock meanwhile") {
  const auto driver = memory::make_emulated_driver();
  Manager manager(driver);
  const HandleId x = put_at(manager, "x", 1024, 2);
  const HandleId y = put_at(manager, "y", 1024, 3);
  const memory::Stream late = driver->make_stream(kDevice, "late");
  StreamGate gate(*driver, late);
  std::atomic<bool> read{false}, closing{false};
  Plan plan{"p", {}, {}, {Ensure{x, kDevice, {}}}};
  plan.exit = {Drop{x, kDevice}};
  Scope scope = manager.scope(plan);
  scope.enter();
  {
    const Lease lease = manager.acquire({x}, kDevice, late);
    const BlockView view = lease.view(x);
    driver->enqueue(late, [view, &read] { read = all_are(view, 2); });
  }
  std::thread closer([&] {
    closing = true;
    scope.close();
  });
  while (!closing) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {  // the manager goes on
    manager.ensure(y, kPinned);
    manager.drop(y, kPinned);
    CHECK(manager.planning_state().record(x).at(kDevice) != nullptr);
  }
  gate.open();
  closer.join();
  CHECK(read);
  CHECK(manager.planning_state().record(x).at(kDevice) == nullptr);
  manager.close();
}

TEST_CASE(
    "R20, R32: in 1,000 random rounds with two consumer streams no reader ever finds a freed or reused "
    "block") {
  const PoisonedFrees poisoned;
  const std::uint64_t seed = fheres::test::test_seed(41);
  CAPTURE(seed);
  int refusals = 0, compactions = 0, arrivals = 0;
  for (std::uint64_t world_seed = 0; world_seed < 10; ++world_seed) {
    CAPTURE(world_seed);
    fheres::test::Random random(seed + world_seed);
    World world({{kDevice, 10 * 256}, {kPinned, 16 * 256}});
    Manager& manager = *world.manager;
    std::vector<HandleId> values;
    std::vector<unsigned char> fills;
    for (std::size_t i = 0; i < 8; ++i) {
      fills.push_back(static_cast<unsigned char>(i + 1));
      values.push_back(world.put("v" + std::to_string(i), 256 * (1 + random.below(4)), kPageable, fills[i]));
    }
    const memory::Stream streams[] = {world.stepped->make_stream(kDevice, "one"),
                                      world.stepped->make_stream(kDevice, "two")};
    int readers = 0, done = 0, wrong = 0;
    const auto attempt = [&](auto&& work) {
      try {
        work();
      } catch (const InUseError&) {
        ++refusals;
      } catch (const BudgetError&) {
        ++refusals;
      } catch (const UnavailableError&) {
      }
    };
    for (int round = 0; round < 100; ++round) {
      const std::size_t which = random.below(values.size());
      const HandleId value = values[which];
      attempt([&] {
        if (random.chance(3)) {
          manager.ensure(value, kPinned);
          arrivals += manager.prefetch(value, kDevice, kPinned).arriving ? 1 : 0;
        } else {
          compactions += manager.ensure(value, kDevice).compacted != 0 ? 1 : 0;
        }
        Lease lease = manager.acquire({value}, kDevice, streams[0]);
        lease.add_consumer_stream(streams[1]);
        const BlockView view = lease.view(value);
        for (const memory::Stream& stream : streams) {
          ++readers;
          world.stepped->enqueue(stream, [&, view, fill = fills[which]] {
            ++done;
            wrong += all_are(view, fill) ? 0 : 1;
          });
        }
        lease.release(random.chance(8));
      });
      for (std::uint64_t steps = random.below(6); steps > 0; --steps) world.stepped->step();
      const HandleId other = values[random.below(values.size())];
      for (int drops = 0; drops < 2; ++drops)
        attempt(
            [&] { manager.drop(values[random.below(values.size())], random.chance(4) ? kPinned : kDevice); });
      if (random.chance(6)) attempt([&] { manager.move(other, kPinned, kDevice); });
      if (random.chance(10)) attempt([&] { manager.move(other, kPageable, kPinned); });
      if (random.chance(5)) attempt([&] { manager.allocate(kDevice, 256 * (1 + random.below(4))); });
      REQUIRE(wrong == 0);
    }
    world.stepped->run_until_idle();
    CHECK(done == readers);
    CHECK(wrong == 0);
    CHECK(world.accounts_hold());
    manager.close();
  }
  CHECK(refusals > 100);
  CHECK(compactions > 0);
  CHECK(arrivals > 50);
}
