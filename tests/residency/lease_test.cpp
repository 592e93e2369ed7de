#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

Protection counts(World& world, HandleId value, Location at) {
  const State state = world.manager->planning_state();
  const Materialization* m = state.record(value).at(at);
  return m != nullptr ? m->protection : Protection{};
}

}  // namespace

TEST_CASE("R29: acquire protects all or none, merges duplicates, and never places anything") {
  World world;
  const HandleId a = world.put("a", 256, kPinned);
  const HandleId b = world.put("b", 256, kPageable);
  CHECK_THROWS_AS(world.manager->acquire({a, b}, kPinned), UnavailableError);
  CHECK_FALSE(counts(world, a, kPinned).any());
  CHECK_THROWS_AS(world.manager->acquire({}, kPinned), std::invalid_argument);
  const Lease lease = world.manager->acquire({a, a}, kPinned);
  CHECK(counts(world, a, kPinned).use == 1);
  CHECK(lease.handles() == std::vector<HandleId>{a});
}

TEST_CASE("R30: a cuda lease needs a consumer stream of its device, and a host lease takes none") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  world.manager->ensure(x, kDevice);
  const memory::Stream zero = world.stepped->make_stream(kDevice, "zero");
  const memory::Stream one = world.stepped->make_stream(Location::cuda(1), "one");
  CHECK_THROWS_AS(world.manager->acquire({x}, kDevice), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->acquire({x}, kDevice, one), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->acquire({x}, kPinned, zero), std::invalid_argument);
  Lease lease = world.manager->acquire({x}, kDevice, zero);
  CHECK_THROWS_AS(lease.add_consumer_stream(one), std::invalid_argument);
  CHECK_NOTHROW(lease.add_consumer_stream(world.stepped->make_stream(kDevice, "more")));
  lease.release();
  CHECK_THROWS_AS(lease.add_consumer_stream(zero), LifetimeClosedError);
  Lease host = world.manager->acquire({x}, kPinned);
  CHECK_THROWS_AS(host.add_consumer_stream(zero), std::invalid_argument);
}

TEST_CASE("R31: a lookup gives the block and its specification while the lease is active") {
  World world;
  const HandleId x = world.put("x", 300, kPinned, 0x11);
  const HandleId y = world.put("y", 300, kPinned);
  Lease lease = world.manager->acquire({x}, kPinned);
  const BlockView view = lease[x];
  CHECK(view.bytes == 300);
  CHECK(view.at == kPinned);
  CHECK(view.spec->name == "x");
  CHECK(view.data[299] == std::byte{0x11});
  CHECK_THROWS_AS(lease.view(y), HandleError);
  lease.release();
  CHECK_FALSE(lease.active());
  CHECK_THROWS_AS(lease.view(x), LifetimeClosedError);
}

TEST_CASE("R32: release turns uses into pending tokens until every consumer stream has passed") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  world.manager->ensure(x, kDevice);
  const memory::Stream one = world.stepped->make_stream(kDevice, "one");
  const memory::Stream two = world.stepped->make_stream(kDevice, "two");
  world.stepped->enqueue(one, [] {});
  world.stepped->enqueue(two, [] {});
  Lease lease = world.manager->acquire({x}, kDevice, one);
  lease.add_consumer_stream(two);
  CHECK(counts(world, x, kDevice) == Protection{.use = 1, .hold = 0, .pending = 0});
  lease.release();
  CHECK(counts(world, x, kDevice) == Protection{.use = 0, .hold = 0, .pending = 1});
  CHECK_THROWS_AS(world.manager->drop(x, kDevice), InUseError);
  while (world.stepped->step(one)) {
  }
  CHECK(counts(world, x, kDevice).pending == 1);
  world.stepped->run_until_idle();
  CHECK_NOTHROW(world.manager->drop(x, kDevice));
  lease.release();
}

TEST_CASE("R32: release with wait leaves nothing pending, and a host lease ends at once") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  world.manager->ensure(x, kDevice);
  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  bool ran = false;
  world.stepped->enqueue(stream, [&] { ran = true; });
  Lease lease = world.manager->acquire({x}, kDevice, stream);
  lease.release(true);
  CHECK(ran);
  CHECK_FALSE(counts(world, x, kDevice).any());
  Lease host = world.manager->acquire({x}, kPinned);
  host.release();
  CHECK_FALSE(counts(world, x, kPinned).any());
}

TEST_CASE("R33: explain sees through pending tokens without reaping them") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  world.manager->ensure(x, kDevice);
  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  world.stepped->enqueue(stream, [] {});
  { const Lease lease = world.manager->acquire({x}, kDevice, stream); }
  Plan plan;
  plan.name = "p";
  plan.reclaim = {Drop{x, kDevice}};
  CHECK_FALSE(world.manager->explain(plan).feasible);
  world.stepped->run_until_idle();
  const auto version = world.manager->state_version();
  const Explanation told = world.manager->explain(plan);
  CHECK(told.feasible);
  CHECK(told.state_version == version);
  CHECK(world.manager->state_version() == version);
  world.manager->snapshot();
  CHECK(world.manager->state_version() > version);
}

TEST_CASE("R34: a lease's destructor releases silently") {
  World world;
  const HandleId x = world.put("x", 256, kPinned);
  { const Lease lease = world.manager->acquire({x}, kPinned); }
  CHECK_FALSE(counts(world, x, kPinned).any());
  CHECK(world.warnings.empty());
}

TEST_CASE("R34: where no event can be recorded the stream is waited for, else the storage is kept for good") {
  const auto stepped = memory::make_stepped_driver();
  const auto faulty = std::make_shared<fheres::test::FaultyDriver>(stepped);
  std::vector<std::string> warnings;
  ManagerOptions options;
  options.budgets = {{kDevice, 1024}};
  options.warn = [&](const std::string& line) { warnings.push_back(line); };
  Manager manager(faulty, options);
  const HandleId x = manager.adopt(manager.allocate(kDevice, 256), kDevice, make_spec("x", 256));
  const memory::Stream stream = faulty->make_stream(kDevice, "s");
  bool ran = false;
  faulty->enqueue(stream, [&] { ran = true; });
  Lease lease = manager.acquire({x}, kDevice, stream);
  faulty->fail(fheres::test::Call::record, 1);
  lease.release();
  CHECK(ran);
  CHECK(warnings.size() == 1);
  manager.move(x, kPinned);

  manager.ensure(x, kDevice);
  lease = manager.acquire({x}, kDevice, stream);
  faulty->fail(fheres::test::Call::record, 1);
  faulty->fail(fheres::test::Call::synchronize, 1);
  lease.release();
  CHECK(warnings.size() == 3);
  CHECK_THROWS_AS(manager.drop(x, kDevice), InUseError);
  CHECK_THROWS_AS(manager.close(), InUseError);
  CHECK_NOTHROW(manager.close(true, true));
}

TEST_CASE("R29: a token outlives its manager, and the manager warns") {
  World world;
  const HandleId x = world.put("x", 256, kPinned, 0x21);
  Lease lease = world.manager->acquire({x}, kPinned);
  world.manager.reset();
  REQUIRE(world.warnings.size() == 1);
  CHECK(world.warnings[0] ==
        "a manager was destroyed without close: 1 protections and 0 reservations are left");
  CHECK(*lease.view(x).data == std::byte{0x21});
  CHECK_NOTHROW(lease.release());
}

TEST_CASE("R33: acquire reaps what has completed, which the version tells") {
  World world;
  const HandleId x = world.put("x", 512, kDevice);
  const HandleId y = world.put("y", 512, kPageable);
  const auto grows_by = [&] {
    const std::uint64_t before = world.manager->state_version();
    Lease host = world.manager->acquire({y}, kPageable);
    return world.manager->state_version() - before;
  };
  const std::uint64_t alone = grows_by();
  const memory::Stream stream = world.stepped->make_stream(kDevice, "consumer");
  Lease lease = world.manager->acquire({x}, kDevice, stream);
  world.stepped->hold(stream);
  lease.release();
  CHECK(grows_by() == alone);  // still pending
  world.stepped->let_go(stream);
  world.stepped->run_until_idle();
  CHECK(grows_by() == alone + 1);
  CHECK(grows_by() == alone);
}
