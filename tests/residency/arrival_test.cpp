#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

const MaterializationSnapshot& seen_at(const Snapshot& seen, HandleId value, Location at) {
  for (const MaterializationSnapshot& m : seen.values.at(value.serial).materializations)
    if (m.at == at) return m;
  throw std::runtime_error("the value is not there");
}

/// A value at pinned-host whose copy to the device is queued behind a held stream.
struct Held {
  explicit Held(std::map<Location, Bytes> budgets = {}) : world(std::move(budgets)) {
    x = world.put("x", 512, kPinned, 7);
    transfer = world.manager->transfer_stream(kDevice);
    world.stepped->hold(transfer);
    report = world.manager->prefetch(x, kDevice);
  }
  Protection counts(Location at) { return seen_at(world.manager->snapshot(), x, at).protection; }
  bool arriving() { return seen_at(world.manager->snapshot(), x, kDevice).arriving; }

  World world;
  HandleId x;
  memory::Stream transfer;
  TransitionReport report;
};

}  // namespace

TEST_CASE(
    "R21: an asynchronous ensure is installed and charged while its copy waits, and both ends are "
    "protected") {
  Held held({{kPinned, 1024}, {kDevice, 1024}});
  CHECK(held.world.stepped->queued_copies() == 1);
  CHECK(held.arriving());
  CHECK(held.counts(kPinned) == Protection{0, 0, 1});
  CHECK(held.counts(kDevice) == Protection{0, 0, 1});
  CHECK(held.world.account(kDevice).used == 512);
  CHECK(held.world.accounts_hold());
  CHECK(held.report.asynchronous);
  CHECK(held.report.arriving);
  CHECK(held.report.work == Transition::Work::copy);
  // There already, on its way or not.
  CHECK(held.world.manager->ensure(held.x, kDevice).no_op());

  held.world.stepped->let_go(held.transfer);
  held.world.stepped->run_until_idle();
  CHECK_FALSE(held.arriving());
  CHECK_FALSE(held.counts(kPinned).any());
  CHECK_FALSE(held.counts(kDevice).any());
  CHECK(held.world.first_byte(held.x, kDevice) == 7);
}

TEST_CASE(
    "R21: a pageable end or a value that has to be loaded cannot arrive asynchronously, and the plan is "
    "infeasible") {
  World world;
  const HandleId x = world.put("x", 512, kPageable, 1);
  const HandleId s = world.source("s", 512, kPinned, 2);
  CHECK_THROWS_AS(world.manager->prefetch(x, kDevice), UnavailableError);
  CHECK_THROWS_AS(world.manager->prefetch(s, kDevice), UnavailableError);
  world.manager->ensure(x, kDevice);
  world.manager->drop(x, kPageable);
  CHECK_THROWS_AS(world.manager->prefetch(x, kPageable), UnavailableError);
  world.manager->ensure(x, kPageable);
  Plan plan;
  plan.name = "p";
  plan.prefetch = {Ensure{x, kPinned, kPageable, true}};
  const Explanation told = world.manager->explain(plan);
  CHECK_FALSE(told.feasible);
  CHECK(told.phase == Phase::prefetch);
  REQUIRE(told.refusal);
  CHECK(told.refusal->rule == Refusal::Rule::pageable_end);
  CHECK(told.reason ==
        "prefetch[0] ensure 'x' at pinned-host: 'x' cannot arrive asynchronously: expected a copy between "
        "pinned-host "
        "and devices, one end is pageable-host");
  Scope scope = world.manager->scope(plan);
  CHECK_THROWS_AS(scope.enter(), PlanError);
}

TEST_CASE(
    "R22: a consumer stream waits on the device, never the host, and reads nothing before the copy is done") {
  Held held;
  const memory::Stream first = held.world.stepped->make_stream(kDevice, "first");
  const memory::Stream second = held.world.stepped->make_stream(kDevice, "second");
  Lease lease = held.world.manager->acquire({held.x}, kDevice, first);
  CHECK(held.world.stepped->queued_copies() == 1);  // the host went on
  lease.add_consumer_stream(second);
  int read = 0;
  for (const memory::Stream& stream : {first, second})
    held.world.stepped->enqueue(stream,
                                [&, view = lease.view(held.x)] { read += static_cast<int>(view.data[511]); });
  held.world.stepped->run_until_idle();
  CHECK(read == 0);
  CHECK(held.arriving());

  held.world.stepped->let_go(held.transfer);
  held.world.stepped->run_until_idle();
  CHECK(read == 14);
  CHECK_FALSE(held.arriving());
  const TransitionReport ended = held.world.manager->trace().at(held.report.sequence);
  CHECK(ended.device_waits == 2);
  CHECK(ended.stall_ns == 0);
  lease.release(true);
}

TEST_CASE("R22: of what arrives in one stream the last is waited for, on the device and at a plan's end") {
  const auto stepped = memory::make_stepped_driver();
  const auto counting = std::make_shared<fheres::test::FaultyDriver>(stepped);
  ManagerOptions options;
  options.arrivals_end_when_settled = true;
  Manager manager(counting, options);
  std::vector<HandleId> values;
  Plan plan;
  plan.name = "reads";
  for (unsigned char i = 1; i <= 12; ++i) {
    Allocation block = manager.allocate(kPinned, kGranule);
    std::memset(block.data(), i, block.bytes());
    values.push_back(manager.adopt(std::move(block), kPinned, make_spec("v" + std::to_string(i), kGranule)));
    plan.reads.push_back({values.back(), kDevice});
  }
  const memory::Stream one = counting->make_stream(kDevice, "one"),
                       two = counting->make_stream(kDevice, "two");
  const memory::Stream consumer = counting->make_stream(kDevice, "consumer");
  stepped->hold(two);
  for (std::size_t i = 0; i < values.size(); ++i)
    manager.prefetch(values[i], kDevice, {}, i % 3 == 0 ? two : one);

  Scope scope = manager.scope(plan);
  scope.enter();
  const std::uint64_t waits = counting->calls(fheres::test::Call::wait);
  Lease lease = manager.acquire(values, kDevice, consumer);
  CHECK(counting->calls(fheres::test::Call::wait) == waits + 2);
  int read = 0;
  for (const HandleId value : values)
    counting->enqueue(consumer,
                      [&read, view = lease.view(value)] { read += static_cast<int>(view.data[0]); });
  stepped->run_until_idle();
  CHECK(read == 0);
  stepped->let_go(two);
  lease.release();
  counting->synchronize(consumer);
  CHECK(read == 78);
  const std::uint64_t waited = counting->calls(fheres::test::Call::synchronize);
  scope.close();
  CHECK(counting->calls(fheres::test::Call::synchronize) <= waited + 2);
  const Snapshot after = manager.snapshot();
  for (const HandleId value : values) {
    CHECK_FALSE(seen_at(after, value, kDevice).arriving);
    CHECK_FALSE(seen_at(after, value, kDevice).protection.any());
    CHECK_FALSE(seen_at(after, value, kPinned).protection.any());
  }
  for (const TransitionReport& item : manager.trace()) {
    CHECK(item.device_waits == 1);
    CHECK(item.stall_ns == 0);  // the consumer had waited
  }
}

TEST_CASE("R22: a host lease of what arrives blocks until it is there") {
  World world;
  const HandleId x = world.put("x", 512, kDevice, 9);
  const TransitionReport queued = world.manager->prefetch(x, kPinned);
  CHECK(world.stepped->queued_copies() == 1);
  const Lease lease = world.manager->acquire({x}, kPinned);
  CHECK(world.stepped->queued_copies() == 0);
  CHECK(static_cast<int>(lease.view(x).data[511]) == 9);
  const TransitionReport ended = world.manager->trace().at(queued.sequence);
  CHECK_FALSE(ended.arriving);
  CHECK(ended.stall_ns > 0);
  CHECK(ended.end_ns >= queued.end_ns);
  CHECK(ended.queued_ns == queued.end_ns);
}

TEST_CASE("R22: a copy out of what arrives comes after its arrival") {
  Held held;
  held.world.stepped->let_go(held.transfer);
  CHECK(held.world.stepped->queued_copies() == 1);
  held.world.manager->ensure(held.x, kPageable, kDevice);
  CHECK(held.world.first_byte(held.x, kPageable) == 7);
}

TEST_CASE("R23: neither end of an arrival is removed before it is settled") {
  Held held;
  Manager& manager = *held.world.manager;
  CHECK_THROWS_AS(manager.drop(held.x, kDevice), InUseError);
  CHECK_THROWS_AS(manager.drop(held.x, kPinned), InUseError);
  CHECK_THROWS_AS(manager.move(held.x, kPageable, kPinned), InUseError);
  CHECK_THROWS_AS(manager.discard(held.x), InUseError);
  CHECK(caught<InUseError>([&] { manager.drop(held.x, kPinned); }).counts == Protection{0, 0, 1});
  held.world.stepped->let_go(held.transfer);
  manager.settle(held.x, kDevice);
  CHECK(held.world.stepped->queued_copies() == 0);
  CHECK_FALSE(held.arriving());
  manager.settle(held.x, kDevice);  // nothing is on its way any more
  manager.drop(held.x, kPinned);
  CHECK(held.world.first_byte(held.x, kDevice) == 7);
  CHECK_THROWS_AS(manager.settle(held.x, kPinned), UnavailableError);
}

TEST_CASE("R23: a plan settles before it removes an end, and explain says so") {
  Held held;
  held.world.stepped->let_go(held.transfer);
  Plan plan;
  plan.name = "p";
  plan.reclaim = {Drop{held.x, kPinned}};
  plan.exit = {Move{held.x, kPinned, kDevice}};
  const Explanation told = held.world.manager->explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.actions[0].settles);
  CHECK_FALSE(told.actions[1].settles);
  CHECK(held.world.stepped->queued_copies() == 1);  // explaining waits for nothing
  held.world.manager->scope(plan).run([&](Scope&) {
    CHECK(held.world.stepped->queued_copies() == 0);
    CHECK(held.world.first_byte(held.x, kDevice) == 7);
  });
  CHECK(held.world.first_byte(held.x, kPinned) == 7);
}

TEST_CASE("R39: a plan prefetches after it has entered, and only asynchronous ensures are prefetched") {
  World world({{kDevice, 1024}});
  const HandleId a = world.put("a", 512, kPinned, 1);
  const HandleId b = world.put("b", 512, kPinned, 2);
  Plan plan;
  plan.name = "p";
  plan.enter = {Ensure{a, kDevice, {}}};
  plan.prefetch = {Ensure{b, kDevice, {}, true}};
  plan.exit = {Drop{a, kDevice}};
  Scope scope = world.manager->scope(plan);
  scope.enter();
  CHECK(world.stepped->queued_copies() == 1);
  REQUIRE(scope.report().actions.size() == 2);
  CHECK(scope.report().actions[1].phase == Phase::prefetch);
  CHECK(scope.report().actions[1].transition.arriving);
  REQUIRE(scope.explanation());
  CHECK(scope.explanation()->actions[1].asynchronous);
  scope.close();
  CHECK(world.stepped->queued_copies() == 1);  // exit removes neither of its ends
  world.manager->settle(b, kDevice);
  CHECK(world.first_byte(b, kDevice) == 2);

  plan.prefetch = {Ensure{b, kDevice, {}}};
  CHECK_THROWS_AS(world.manager->explain(plan), std::invalid_argument);
  plan.prefetch = {Drop{b, kDevice}};
  CHECK_THROWS_AS(world.manager->explain(plan), std::invalid_argument);
}

TEST_CASE("R63: close waits for what is arriving, or refuses where it must not wait") {
  Held held;
  CHECK_THROWS_AS(held.world.manager->close(false), InUseError);
  CHECK(held.world.stepped->queued_copies() == 1);
  held.world.stepped->let_go(held.transfer);
  held.world.manager->close();
  CHECK(held.world.stepped->queued_copies() == 0);
}

TEST_CASE("R21: a manager that goes without close keeps both ends of a copy that still runs, and warns") {
  Held held;
  held.world.manager.reset();
  CHECK(held.world.warnings.size() == 1);
  held.world.stepped->let_go(held.transfer);
  held.world.stepped->run_until_idle();  // into storage that is still there
}

TEST_CASE(
    "R22, R23: what is still on its way is told, and settling for an action waits for the ends it would "
    "take") {
  Held held;
  const HandleId values[] = {held.x};
  CHECK(held.world.manager->arriving(values, kDevice) == std::vector<HandleId>{held.x});
  CHECK(held.world.manager->arriving(values, kPinned).empty());
  held.world.stepped->let_go(held.transfer);
  held.world.manager->settle_for(Drop{held.x, kDevice});
  CHECK(held.world.manager->arriving(values, kDevice).empty());
  CHECK_FALSE(held.counts(kPinned).any());
  held.world.manager->drop(held.x, kDevice);
  held.world.manager->settle_for(Drop{held.x, kDevice});  // nothing is there, and nothing to wait for
}

namespace {

constexpr Bytes kTile = 4 * kGranule;

/// Two values that arrive, and one that fits only once the first has gone and the second has slid.
struct Tiles {
  World world{{{kDevice, 4 * kTile}}, 1, {}, true};
  HandleId a = world.put("a", kTile, kPinned, 1), b = world.put("b", kTile, kPinned, 2),
           c = world.put("c", 3 * kTile, kPinned, 3);

  void check_that_b_slid() {
    CHECK(world.manager->snapshot().at(kDevice)->compacted == kTile);
    CHECK(world.first_byte(b, kDevice) == 2);
    CHECK(world.first_byte(c, kDevice) == 3);
  }
};

void check_fragmented(const Explanation& told, Scope& scope) {
  REQUIRE(told.refusal);
  CHECK(told.refusal->rule == Refusal::Rule::fragmented);
  CHECK_THROWS_AS(scope.enter(), PlanError);
}

}  // namespace

TEST_CASE(
    "R23, R27: what a body has read is settled when it ends, and then slides; what nobody read does not, "
    "however early its copy is complete") {
  for (const bool reads : {false, true}) {
    CAPTURE(reads);
    Tiles tiles;
    auto& [world, a, b, c] = tiles;
    Plan first{.name = "first", .reclaim = {}, .reservations = {}, .enter = {}};
    first.prefetch = {Ensure{a, kDevice, {}, true}, Ensure{b, kDevice, {}, true}};
    if (reads) first.reads = {{a, kDevice}, {b, kDevice}};
    Plan second{.name = "second", .reclaim = {Drop{a, kDevice}}, .reservations = {}, .enter = {}};
    second.enter = {Ensure{c, kDevice, {}}};

    world.manager->scope(first).run([&](Scope&) {
      const Snapshot seen = world.manager->snapshot();
      CHECK(seen_at(seen, b, kDevice).arriving);
    });
    world.stepped->run_until_idle();
    const HandleId values[] = {b};
    CHECK(world.manager->arriving(values, kDevice).empty());  // nobody would wait
    CHECK(seen_at(world.manager->snapshot(), b, kDevice).arriving == !reads);
    CHECK(world.accounts_hold());
    const Explanation told = world.manager->explain(second);
    CHECK(told.feasible == reads);
    Scope scope = world.manager->scope(second);
    if (!reads) {
      check_fragmented(told, scope);
      CHECK_THROWS_AS(world.manager->drop(b, kDevice), InUseError);
      world.manager->settle(b, kDevice);
      world.manager->scope(second).run([](Scope&) {});
    } else {
      CHECK(told.compacted_bytes() == kTile);
      scope.enter();
      scope.close();
    }
    tiles.check_that_b_slid();
  }
}

TEST_CASE("R23: a plan waits for what its body should have read") {
  World world({{kDevice, 1024}}, 1, {}, true);
  const HandleId x = world.put("x", 512, kPinned, 7);
  world.manager->prefetch(x, kDevice);
  Plan plan{.name = "p", .reclaim = {}, .reservations = {}, .enter = {}};
  plan.reads = {{x, kDevice}};
  Scope scope = world.manager->scope(plan);
  scope.enter();
  CHECK(world.stepped->queued_copies() == 1);
  scope.close();
  CHECK(world.stepped->queued_copies() == 0);
  CHECK(world.manager->trace().back().stall_ns > 0);
  world.manager->drop(x, kPinned);
  CHECK(world.first_byte(x, kDevice) == 7);
}

TEST_CASE("R23, R27: what a body has read slides for the plan's own exit, by explain and by the manager") {
  for (const bool reads : {false, true}) {
    CAPTURE(reads);
    Tiles tiles;
    auto& [world, a, b, c] = tiles;
    world.manager->prefetch(a, kDevice);
    world.manager->prefetch(b, kDevice);
    Plan plan{.name = "p", .reclaim = {}, .reservations = {}, .enter = {}};
    plan.exit = {Drop{a, kDevice}, Ensure{c, kDevice, {}}};
    if (reads) plan.reads = {{b, kDevice}};
    const Explanation told = world.manager->explain(plan);
    CHECK(told.feasible == reads);
    Scope scope = world.manager->scope(plan);
    if (!reads) {
      check_fragmented(told, scope);
      continue;
    }
    CHECK(told.compacted_bytes() == kTile);
    scope.enter();
    scope.close();
    tiles.check_that_b_slid();
  }
}

TEST_CASE("R63: close ends what has to be settled, and a manager that goes frees what is complete") {
  for (const bool closes : {true, false}) {
    World world({{kDevice, 1024}}, 1, {}, true);
    const HandleId x = world.put("x", 512, kPinned, 7);
    world.manager->prefetch(x, kDevice);
    if (closes) {
      world.manager->close();
      CHECK(world.stepped->queued_copies() == 0);
    } else {
      world.stepped->run_until_idle();
      world.manager.reset();
      CHECK(world.warnings.empty());
    }
  }
}

TEST_CASE("R19, R23: an ensure of a plan that is not asynchronous settles what is on its way to there") {
  World world({{kDevice, 1024}}, 1, {}, true);
  const HandleId x = world.put("x", 512, kPinned, 7);
  world.manager->prefetch(x, kDevice);
  Plan plan{.name = "p", .reclaim = {}, .reservations = {}, .enter = {Ensure{x, kDevice, {}}}};
  const Explanation told = world.manager->explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.actions[0].settles);
  CHECK(told.actions[0].no_op);
  CHECK(world.stepped->queued_copies() == 1);
  world.manager->scope(plan).run([&](Scope&) {
    CHECK(world.stepped->queued_copies() == 0);
    CHECK_FALSE(seen_at(world.manager->snapshot(), x, kDevice).arriving);
  });
  world.manager->drop(x, kPinned);
  CHECK(world.first_byte(x, kDevice) == 7);
}
