// R27: addresses decide whether a compaction is needed, explain says so before, and only protected blocks prevent it.
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using fheres::test::Call;

namespace {

// Ten values of 10 units in 100, every other one dropped: 50 are free, no more than 10 in one piece.
struct Sieve {
  explicit Sieve(Location where = kDevice) : at(where), world({{where, 100 * kUnit}}) {
    for (int i = 0; i < 10; ++i) {
      values.push_back(
          world.put("v" + std::to_string(i), 10 * kUnit, kPageable, static_cast<unsigned char>(i + 1)));
      world.manager->ensure(values.back(), at);
    }
    for (std::size_t i = 0; i < 10; i += 2) world.manager->drop(values[i], at);
    for (std::size_t i = 1; i < 10; i += 2) kept.push_back(values[i]);
    big = world.put("big", 40 * kUnit, kPageable, 0xEE);
  }
  LocationSnapshot seen() { return *world.manager->snapshot().at(at); }
  bool intact() {
    for (std::size_t i = 1; i < 10; i += 2) {
      Lease lease = at.is_cuda()
                        ? world.manager->acquire({values[i]}, at, world.stepped->make_stream(at, "look"))
                        : world.manager->acquire({values[i]}, at);
      const BlockView view = lease.view(values[i]);
      for (Bytes b = 0; b < view.bytes; ++b)
        if (static_cast<unsigned char>(view.data[b]) != i + 1) return false;
      lease.release(true);
    }
    return true;
  }

  Location at;
  World world;
  std::vector<HandleId> values, kept;
  HandleId big;
};

}  // namespace

TEST_CASE(
    "R27: ten 10s in 100, every other dropped, then a 40: compacted as explained, and every byte stays") {
  for (const Location at : {kDevice, kPinned}) {
    CAPTURE(at.name());
    Sieve sieve(at);
    Manager& manager = *sieve.world.manager;
    CHECK(sieve.seen().largest_free == 10 * kUnit);
    CHECK(sieve.seen().account.used == 50 * kUnit);
    const Plan plan{"forty", {}, {}, {Ensure{sieve.big, at, {}}}};
    const Explanation told = manager.explain(plan);
    REQUIRE(told.feasible);
    CHECK(told.actions[0].compacted == 30 * kUnit);  // three 10s between the four lowest gaps
    CHECK(told.at(at)->compacted == 30 * kUnit);
    CHECK(told.moved_bytes() == 40 * kUnit);
    CHECK(sieve.seen().compacted == 0);  // only said so far

    const TransitionReport report = manager.ensure(sieve.big, at);
    CHECK(report.compacted == 30 * kUnit);
    CHECK(report.bytes == 40 * kUnit);
    const LocationSnapshot seen = sieve.seen();
    CHECK(seen.compacted == 30 * kUnit);
    CHECK(seen.allocated == 90 * kUnit);
    CHECK(seen.account.used == seen.allocated);
    CHECK(seen.largest_free == 10 * kUnit);
    CHECK(sieve.intact());
    CHECK(sieve.world.first_byte(sieve.big, at) == 0xEE);
    CHECK(sieve.world.accounts_hold());
  }
}

TEST_CASE("R27: with the remaining ones held the 40 is refused, naming them, by explain and by the manager") {
  Sieve sieve;
  Manager& manager = *sieve.world.manager;
  Hold hold = manager.hold(sieve.kept, kDevice);
  const Plan plan{"forty", {}, {}, {Ensure{sieve.big, kDevice, {}}}};
  const Explanation told = manager.explain(plan);
  CHECK_FALSE(told.feasible);
  REQUIRE(told.refusal);
  CHECK(told.refusal->rule == Refusal::Rule::fragmented);
  CHECK(
      told.reason ==
      "enter[0] ensure 'big' at cuda:0: 40960 B (40 KiB) requested at cuda:0, but the largest free piece is "
      "10240 B (10 KiB): protected blocks keep the free bytes apart: 'v1', 'v3', 'v5', 'v7'");
  CHECK_THROWS_AS(manager.scope(plan).enter(), PlanError);

  const auto error = caught<FragmentedError>([&] { manager.ensure(sieve.big, kDevice); });
  CHECK(error.code() == "residency/budget");
  CHECK(error.at == kDevice);
  CHECK(error.largest_free == 10 * kUnit);
  CHECK(error.requested == 40 * kUnit);
  // v9 ends the region: no free bytes lie above it.
  CHECK(error.in_the_way == std::vector<std::string>{"v1", "v3", "v5", "v7"});
  CHECK(sieve.seen().account.used == 50 * kUnit);
  CHECK(sieve.world.accounts_hold());

  hold.release();
  CHECK(manager.ensure(sieve.big, kDevice).compacted == 30 * kUnit);
  CHECK(sieve.intact());
}

TEST_CASE("R27: a block that a lease protects, or that a reservation carved, is passed by no other") {
  Sieve sieve;
  Manager& manager = *sieve.world.manager;
  const memory::Stream reader = sieve.world.stepped->make_stream(kDevice, "reader");
  Lease lease = manager.acquire({sieve.values[5]}, kDevice, reader);
  const std::byte* address = lease.view(sieve.values[5]).data;
  Reservation room = manager.reserve(kDevice, 10 * kUnit, "room");
  Allocation carved = room.allocate(10 * kUnit);  // the lowest gap
  std::memset(carved.data(), 0x77, carved.bytes());
  const std::byte* block = carved.data();

  // 40 are free: 10 below v5 and 20 above it are all that can come together.
  const auto error = caught<FragmentedError>([&] { manager.ensure(sieve.big, kDevice); });
  CHECK(error.largest_free == 20 * kUnit);
  CHECK(error.in_the_way == std::vector<std::string>{"v5"});
  const HandleId twenty = sieve.world.put("twenty", 20 * kUnit, kPageable, 0xAB);
  CHECK(manager.ensure(twenty, kDevice).compacted == 10 * kUnit);
  CHECK(lease.view(sieve.values[5]).data == address);
  CHECK(carved.data() == block);
  CHECK(static_cast<unsigned char>(carved.data()[10 * kUnit - 1]) == 0x77);
  CHECK(sieve.intact());

  lease.release(true);
  manager.drop(twenty, kDevice);
  carved = {};
  room.release();
  CHECK_NOTHROW(manager.ensure(sieve.big, kDevice));
  CHECK(sieve.intact());
}

TEST_CASE("R27: a consumer that has not read yet keeps its block where it is") {
  Sieve sieve;
  Manager& manager = *sieve.world.manager;
  const memory::Stream reader = sieve.world.stepped->make_stream(kDevice, "reader");
  sieve.world.stepped->hold(reader);
  bool right = false;
  {
    Lease lease = manager.acquire({sieve.values[5]}, kDevice, reader);
    const BlockView view = lease.view(sieve.values[5]);
    sieve.world.stepped->enqueue(reader, [view, &right] {
      right = static_cast<unsigned char>(view.data[0]) == 6 &&
              static_cast<unsigned char>(view.data[view.bytes - 1]) == 6;
    });
  }
  CHECK_THROWS_AS(manager.ensure(sieve.big, kDevice), FragmentedError);
  const HandleId twenty = sieve.world.put("twenty", 20 * kUnit, kPageable, 0xAB);
  CHECK(manager.ensure(twenty, kDevice).compacted == 10 * kUnit);
  manager.drop(twenty, kDevice);
  sieve.world.stepped->let_go(reader);
  sieve.world.stepped->run_until_idle();
  CHECK(right);
  CHECK_NOTHROW(manager.ensure(sieve.big, kDevice));
  CHECK(sieve.intact());
}

TEST_CASE("R27: carving and loading compact as well, and are refused alike") {
  Sieve sieve;
  Manager& manager = *sieve.world.manager;
  Reservation room = manager.reserve(kDevice, 40 * kUnit, "room");
  Allocation carved = room.allocate(30 * kUnit);
  CHECK(sieve.seen().compacted == 20 * kUnit);
  CHECK(sieve.intact());
  carved = {};
  room.release();

  const HandleId loaded = sieve.world.source("loaded", 45 * kUnit, kDevice, 0x99);
  const Explanation told = manager.explain({"load", {}, {}, {Ensure{loaded, kDevice, {}}}});
  const TransitionReport report = manager.ensure(loaded, kDevice);
  CHECK(told.actions[0].compacted == report.compacted);
  CHECK(report.compacted == 20 * kUnit);
  CHECK(sieve.world.first_byte(loaded, kDevice) == 0x99);
  CHECK(sieve.intact());

  Sieve held;
  const Hold hold = held.world.manager->hold(held.kept, kDevice);
  CHECK_THROWS_AS(held.world.manager->allocate(kDevice, 11 * kUnit), FragmentedError);
  Reservation other = held.world.manager->reserve(kDevice, 20 * kUnit, "other");
  CHECK_THROWS_AS(other.allocate(11 * kUnit), FragmentedError);
  CHECK(other.available() == 20 * kUnit);
  CHECK_NOTHROW(other.allocate(10 * kUnit));
}

TEST_CASE("R27: a plan's body is predicted from its workspace and what it produces, and is reported so") {
  Sieve sieve;
  Manager& manager = *sieve.world.manager;
  const HandleId made = manager.announce(make_spec("made", 15 * kUnit));
  Plan plan{"stage", {}, {{kDevice, 15 * kUnit, "outputs"}, {kDevice, 25 * kUnit, "workspace"}}, {}};
  plan.produce = {{made, kDevice, 0}};
  plan.workspace = {{1, 25 * kUnit}};
  const Explanation told = manager.explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.compacted_bytes() > 0);

  Scope scope = manager.scope(plan);
  scope.run([&](Scope& open) {
    const Allocation work = open.reservation("workspace").allocate(25 * kUnit);
    Allocation output = open.reservation("outputs").allocate(15 * kUnit);
    std::memset(output.data(), 0x42, output.bytes());
    manager.adopt(std::move(output), kDevice, made);
  });
  Bytes compacted = 0;
  for (const LocationPeak& peak : scope.report().peaks) compacted += peak.compacted;
  CHECK(compacted == told.at(kDevice)->compacted);
  CHECK(scope.explanation()->at(kDevice)->compacted == told.at(kDevice)->compacted);
  CHECK(scope.explanation()->at(kDevice)->holders.empty());  // nobody asks while it goes
  CHECK(sieve.world.first_byte(made, kDevice) == 0x42);
  CHECK(sieve.intact());

  const Hold hold = manager.hold(sieve.kept, kDevice);
  plan.produce.clear();
  plan.workspace = {{0, 40 * kUnit}};
  plan.reservations = {{kDevice, 40 * kUnit, "workspace"}};
  manager.discard(made);
  const Explanation refused = manager.explain(plan);
  CHECK_FALSE(refused.feasible);
  CHECK(refused.reason.find("workspace[0] out of 'workspace'") == 0);
  CHECK_FALSE(refused.phase.has_value());
}

TEST_CASE("R20: a compaction that fails at any call leaves every block and address as they were") {
  for (const Location at : {kDevice, kPinned}) {
    for (const Call call : {Call::copy, Call::record, Call::synchronize}) {
      for (std::uint64_t k = 1;; ++k) {
        CAPTURE(at.name());
        CAPTURE(static_cast<int>(call));
        CAPTURE(k);
        const auto faulty = std::make_shared<fheres::test::FaultyDriver>(memory::make_stepped_driver());
        ManagerOptions options;
        options.budgets = {{at, 100 * kUnit}};
        Manager manager(faulty, options);
        std::vector<HandleId> values;
        const auto put = [&](Bytes bytes, unsigned char fill) {
          Allocation block = manager.allocate(kPageable, bytes);
          std::memset(block.data(), fill, bytes);
          return manager.adopt(std::move(block), kPageable, make_spec("v", bytes));
        };
        for (int i = 0; i < 10; ++i) {
          values.push_back(put(i == 4 ? 4 * kUnit : 10 * kUnit, static_cast<unsigned char>(i)));
          manager.ensure(values.back(), at);
        }
        for (std::size_t i = 0; i < 10; i += 2) manager.drop(values[i], at);
        const HandleId big = put(40 * kUnit, 0xEE);
        const auto offsets = [&] {
          std::vector<Bytes> list;
          const Snapshot seen = manager.snapshot();
          for (const ValueSnapshot& v : seen.values)
            for (const MaterializationSnapshot& m : v.materializations)
              if (m.offset) list.push_back(*m.offset);
          return list;
        };
        const auto before = offsets();
        const auto failures = faulty->failures();
        faulty->fail(call, k);
        bool failed = false;
        try {
          manager.ensure(big, at);
        } catch (const memory::DeviceError&) {
          failed = true;
        }
        faulty->disarm();
        const bool hit = faulty->failures() != failures;
        CHECK(failed == hit);
        CHECK(manager.snapshot().at(at)->account.used == (failed ? 50 : 90) * kUnit);
        // The first calls are the compaction's; once it is done its result stays, whatever comes after.
        if (failed && manager.snapshot().at(at)->compacted == 0) CHECK(offsets() == before);
        for (std::size_t i = 1; i < 10; i += 2) {
          Lease lease = manager.acquire({values[i]}, at,
                                        at.is_cuda() ? faulty->make_stream(at, "look") : memory::Stream{});
          const BlockView view = lease.view(values[i]);
          bool same = true;
          for (Bytes b = 0; b < view.bytes; ++b) same = same && static_cast<unsigned char>(view.data[b]) == i;
          CHECK(same);
          lease.release(true);
        }
        CHECK_NOTHROW(manager.ensure(big, at));
        if (!hit) break;
      }
    }
  }
}

TEST_CASE("R27: 129.5 MB pinned cost what they cost: charged, allocated and the budget are whole granules") {
  constexpr Bytes kOdd = 129'500'000;
  World world({{kPinned, 2 * round_up_to_granule(kOdd)}});
  const HandleId a =
      world.manager->adopt(world.manager->allocate(kPinned, kOdd), kPinned, make_spec("a", kOdd));
  const HandleId b =
      world.manager->adopt(world.manager->allocate(kPinned, kOdd), kPinned, make_spec("b", kOdd));
  const Snapshot seen = world.manager->snapshot();
  const LocationSnapshot* pinned = seen.at(kPinned);
  CHECK(pinned->account.used == 2 * round_up_to_granule(kOdd));
  CHECK(pinned->allocated == pinned->account.used);
  CHECK(pinned->account.remaining() == 0u);
  CHECK(pinned->largest_free == 0);
  CHECK(pinned->peak_allocated <= *pinned->account.budget);
  CHECK(world.at(a, kPinned));
  CHECK(world.at(b, kPinned));
  CHECK_THROWS_AS(world.manager->allocate(kPinned, 1), BudgetError);
}

TEST_CASE("R27: a layout replays first fit and compaction without storage, value by value") {
  State state(ManagerId{7}, {{kDevice, 100 * kUnit}});
  Layout layout({{kDevice, 100 * kUnit}, {kPageable, 8 * kUnit}});
  CHECK_FALSE(
      layout.follows(kPageable));  // where the operating system gives each block, addresses decide nothing
  std::vector<HandleId> values;
  for (int i = 0; i < 10; ++i) {
    values.push_back(std::get<HandleId>(
        state.adopt(make_spec("v" + std::to_string(i), 10 * kUnit), kPageable, 10 * kUnit)));
    const Plan bring{"bring", {}, {}, {Ensure{values.back(), kDevice, {}}}};
    Simulation next = simulate(std::move(state), std::move(layout), bring);
    REQUIRE(next.explanation.feasible);
    CHECK(next.explanation.compacted_bytes() == 0);
    state = std::move(next.state);
    layout = std::move(next.layout);
  }
  std::vector<Action> drops;
  for (std::size_t i = 0; i < 10; i += 2) drops.push_back(Drop{values[i], kDevice});
  Simulation dropped = simulate(std::move(state), std::move(layout), "drops", drops);
  CHECK(dropped.layout.arena(kDevice)->largest_free() == 10 * kUnit);
  const HandleId big =
      std::get<HandleId>(dropped.state.adopt(make_spec("big", 40 * kUnit), kPageable, 40 * kUnit));
  const Plan plan{"forty", {}, {}, {Ensure{big, kDevice, {}}}};
  CHECK(simulate(dropped.state, dropped.layout, plan).explanation.compacted_bytes() == 30 * kUnit);
  CHECK(simulate(dropped.state, plan).explanation.compacted_bytes() == 0);  // without addresses bytes are all
  dropped.state.protect(values[3], kDevice, State::Token::hold);
  const Explanation refused = simulate(dropped.state, dropped.layout, plan).explanation;
  REQUIRE_FALSE(refused.feasible);
  CHECK(refused.refusal->largest_free == 30 * kUnit);
  CHECK(*refused.refusal->in_the_way == std::vector<std::string>{"v3"});
}

namespace {

// 10 free, b 40, 10 free, d 5, 10 free, f 25: the cheapest piece of 15 is in the middle, and leaves 10 below and 5 above.
struct Middle {
  Middle() : world({{kDevice, 100 * kUnit}}) {
    for (const auto& [name, units] : std::vector<std::pair<const char*, Bytes>>{
             {"a", 10}, {"b", 40}, {"c", 10}, {"d", 5}, {"e", 10}, {"f", 25}}) {
      values.push_back(world.put(name, units * kUnit, kPageable));
      world.manager->ensure(values.back(), kDevice);
    }
    for (const std::size_t gone : {0, 2, 4}) world.manager->drop(values[gone], kDevice);
    out = world.manager->announce(make_spec("out", 15 * kUnit));
    plan.name = "body";
    plan.reservations = {{kDevice, 15 * kUnit, "workspace"}, {kDevice, 15 * kUnit, "outputs"}};
    plan.workspace = {{0, 15 * kUnit}};
    plan.produce = {{out, kDevice, 1}};
  }
  World world;
  std::vector<HandleId> values;
  HandleId out;
  Plan plan;
};

}  // namespace

TEST_CASE(
    "R27: a body's workspace does not keep the room of its outputs apart, by explain and by the manager") {
  Middle middle;
  Manager& manager = *middle.world.manager;
  const Explanation told = manager.explain(middle.plan);
  REQUIRE(told.feasible);
  CHECK(told.at(kDevice)->compacted == 45 * kUnit);  // b and d

  Scope scope = manager.scope(middle.plan);
  scope.enter();
  manager.gather(kDevice, 30 * kUnit);
  Allocation workspace = scope.reservation("workspace", kDevice).allocate(15 * kUnit);
  Allocation block = scope.reservation("outputs", kDevice).allocate(15 * kUnit);
  std::memset(block.data(), 7, block.bytes());
  manager.adopt(std::move(block), kDevice, middle.out);
  CHECK(manager.snapshot().at(kDevice)->account.used == 85 * kUnit);
  CHECK(manager.snapshot().at(kDevice)->compacted == 45 * kUnit);
  workspace = {};
  scope.close();
}

TEST_CASE("R27: without one piece for all blocks of a body, the workspace leaves none for the output") {
  Middle middle;
  Manager& manager = *middle.world.manager;
  Scope scope = manager.scope(middle.plan);
  scope.enter();
  Allocation workspace = scope.reservation("workspace", kDevice).allocate(15 * kUnit);
  CHECK_THROWS_AS(scope.reservation("outputs", kDevice).allocate(15 * kUnit), FragmentedError);
  workspace = {};
  scope.abandon();
}

TEST_CASE(
    "R27: gathering does nothing where protected blocks prevent it, and nothing where there is a piece") {
  Middle middle;
  Manager& manager = *middle.world.manager;
  Hold hold = manager.hold({middle.values[1]}, kDevice);
  const std::uint64_t before = manager.state_version();
  manager.gather(kDevice, 30 * kUnit);
  manager.gather(kDevice, 10 * kUnit);
  CHECK(manager.snapshot().at(kDevice)->compacted == 0);
  CHECK(manager.state_version() == before);
  CHECK_FALSE(manager.explain(middle.plan).feasible);
}

// 30 free, b 50, 20 free: what arrives later would leave no piece of 30 if it took the first one that holds it.
TEST_CASE("R27: what is brought ahead leaves its hole to the next body, by explain and by the manager") {
  World world({{kDevice, 100 * kUnit}});
  const HandleId a = world.put("a", 30 * kUnit, kPinned, 1);
  const HandleId b = world.put("b", 50 * kUnit, kPinned, 2);
  const HandleId ahead = world.put("ahead", 20 * kUnit, kPinned, 3);
  world.manager->ensure(a, kDevice);
  world.manager->ensure(b, kDevice);
  Plan plan;
  plan.name = "body";
  plan.reclaim = {Drop{a, kDevice}};
  plan.reservations = {{kDevice, 30 * kUnit, "workspace"}};
  plan.prefetch = {Ensure{ahead, kDevice, {}, true}};
  plan.workspace = {{0, 30 * kUnit}};
  const Explanation told = world.manager->explain(plan);
  REQUIRE(told.feasible);
  CHECK(told.compacted_bytes() == 0);

  Scope scope = world.manager->scope(plan);
  scope.enter();
  CHECK(world.manager->snapshot().at(kDevice)->largest_free == 30 * kUnit);
  Allocation workspace = scope.reservation("workspace", kDevice).allocate(30 * kUnit);
  CHECK(world.manager->snapshot().at(kDevice)->compacted == 0);
  workspace = {};
  scope.close();
  // What is brought for now takes the first hole, as ever.
  world.manager->settle(ahead, kDevice);
  world.manager->drop(ahead, kDevice);
  world.manager->ensure(ahead, kDevice);
  CHECK(world.manager->snapshot().at(kDevice)->largest_free == 20 * kUnit);
}
