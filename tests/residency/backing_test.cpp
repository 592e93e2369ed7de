#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using fheres::test::Call;

namespace {

/// Each byte of the value is the backing's first byte plus one.
Expand plus_one(std::shared_ptr<memory::Driver> driver) {
  return [driver](const BlockView& from, const ExpandTarget& to, const memory::Stream& stream) {
    const auto work = [from, to] {
      std::memset(to.data, static_cast<unsigned char>(*from.data) + 1, to.bytes);
    };
    if (stream) {
      driver->enqueue(stream, work);
    } else {
      work();
    }
  };
}

/// `seed` of 256 bytes, each of them 6, at pinned-host, and `key` of 1024 that is expanded from it.
struct Backed {
  explicit Backed(std::map<Location, Bytes> budgets = {}, CopyRules copies = {})
      : world(std::move(budgets), 2, std::move(copies)),
        seed(world.put("seed", 256, kPinned, 6)),
        key(world.manager->register_backed(reconstructible("key", 1024), seed, plus_one(world.stepped))) {}

  Manager& manager() { return *world.manager; }
  Protection counts(HandleId value, Location at) {
    const State state = manager().planning_state();
    const Materialization* there = state.record(value).at(at);
    return there == nullptr ? Protection{} : there->protection;
  }

  World world;
  HandleId seed, key;
};

}  // namespace

TEST_CASE(
    "R66: ensure sends the backing's bytes, expands them, and charges a copy of the backing meanwhile") {
  Backed b({{kPinned, 1024}, {kDevice, 1280}});
  const TransitionReport report = b.manager().ensure(b.key, kDevice);
  CHECK(report.work == Transition::Work::expand);
  CHECK(report.expanded_from == b.seed);
  CHECK(report.source == kPinned);
  CHECK(report.destination == kDevice);
  CHECK(report.bytes == 256);
  CHECK(report.temporary_bytes == 256);
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
  CHECK_FALSE(b.world.at(b.seed, kDevice));
  CHECK(b.world.account(kDevice).used == 1024);
  CHECK(b.world.account(kDevice).reserved == 0);
  CHECK(b.world.account(kDevice).peak_used == 1024);
  CHECK(b.world.account(kDevice).peak_charged == 1280);
  CHECK(b.manager().snapshot().at(kDevice)->allocated == 1024);
  CHECK(b.world.accounts_hold());
  CHECK(b.manager().ensure(b.key, kDevice).no_op());
}

TEST_CASE("R66: where the backing is at the destination nothing is sent, and nothing more is charged") {
  Backed b({{kDevice, 1280}});
  b.manager().ensure(b.seed, kDevice);
  const TransitionReport report = b.manager().ensure(b.key, kDevice);
  CHECK(report.work == Transition::Work::expand);
  CHECK(report.source == kDevice);
  CHECK(report.bytes == 0);
  CHECK(report.temporary_bytes == 0);
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
  CHECK(b.world.account(kDevice).peak_charged == 1280);
}

TEST_CASE("R66: at a host location the expansion runs on the calling thread, also of a backing on a device") {
  Backed b;
  CHECK(b.manager().ensure(b.key, kPinned).bytes == 0);
  CHECK(b.world.first_byte(b.key, kPinned) == 7);
  b.manager().move(b.seed, kDevice);
  b.manager().drop(b.key, kPinned);
  CHECK(b.manager().ensure(b.key, kPageable).bytes == 256);
  CHECK(b.world.first_byte(b.key, kPageable) == 7);
  CHECK(b.world.account(kPageable).peak_charged == 1280);
  CHECK(b.world.accounts_hold());
}

TEST_CASE(
    "R66: move of a value that is nowhere expands it, keeps the backing, and takes no explicit source") {
  Backed b;
  CHECK_THROWS_AS(b.manager().move(b.key, kDevice, kPinned), UnavailableError);
  const TransitionReport report = b.manager().move(b.key, kDevice);
  CHECK(report.work == Transition::Work::expand);
  CHECK(b.world.at(b.key, kDevice));
  CHECK(b.world.at(b.seed, kPinned));
  CHECK(b.manager().move(b.key, kPinned).work == Transition::Work::copy);
  CHECK_FALSE(b.world.at(b.key, kDevice));
}

TEST_CASE(
    "R66: a full replica is copied, but for a manager that reads the fastest and sends fewer bytes so") {
  for (const SourceOrder order : {SourceOrder::location_order, SourceOrder::fastest}) {
    const bool fastest = order == SourceOrder::fastest;
    Backed b({}, {order, {}});
    b.manager().ensure(b.key, kPinned);
    CHECK(b.manager().ensure(b.key, kDevice, kPinned).work == Transition::Work::copy);  // it was named
    b.manager().drop(b.key, kDevice);
    const TransitionReport report = b.manager().ensure(b.key, kDevice);
    CHECK(report.work == (fastest ? Transition::Work::expand : Transition::Work::copy));
    CHECK(report.bytes == (fastest ? 256 : 1024));
    CHECK(b.manager().move(b.key, kOther, kPinned).work == Transition::Work::copy);
    // As many bytes either way: no reason to expand.
    const HandleId twin =
        b.manager().register_backed(reconstructible("twin", 256), b.seed, plus_one(b.world.stepped));
    b.manager().ensure(twin, kPageable);
    CHECK(b.manager().ensure(twin, kDevice).work == Transition::Work::copy);
  }
}

TEST_CASE(
    "R66: without room for both the value and the copy of its backing nothing is done, and R24 says why") {
  Backed b({{kDevice, 1024}});
  const std::string before = placement(b.manager());
  const auto error = caught<BudgetError>([&] { b.manager().ensure(b.key, kDevice); });
  CHECK(error.requested == 1280);
  CHECK(error.budget == 1024);
  CHECK(placement(b.manager()) == before);
}

TEST_CASE("R66: what is explained is what happens: source, bytes, temporary charge, peak and its holders") {
  Backed b({{kPinned, 1024}, {kDevice, 2048}});
  const Plan plan{"p", {}, {}, {Ensure{b.key, kDevice, {}}}, {}};
  const Explanation told = b.manager().explain(plan);
  REQUIRE(told.feasible);
  const ActionExplanation& action = told.actions.at(0);
  CHECK(action.expanded_from == b.seed);
  CHECK(action.source == kPinned);
  CHECK(action.bytes == 256);
  CHECK(action.temporary_bytes == 256);
  CHECK(told.moved_bytes() == 256);
  REQUIRE(told.at(kDevice)->holders.size() == 2);
  CHECK(told.at(kDevice)->holders[0].name == "key");
  CHECK(told.at(kDevice)->holders[1].name == "seed");
  CHECK(told.at(kDevice)->holders[1].charged == 256);
  Scope scope = b.manager().scope(plan);
  scope.run([](Scope&) {});
  CHECK(scope.report().actions.at(0).transition.bytes == action.bytes);
  for (const LocationPeak& peak : scope.report().peaks) CHECK(peak.charged == told.at(peak.at)->peak_charged);
  CHECK(told.at(kDevice)->peak_charged == 1280);
}

TEST_CASE("R66: a preflight knows the backing of what a plan names, and who depends on what it names") {
  Backed b;
  b.world.put("bystander", 256, kPageable);
  b.manager().execute_actions(std::vector<Action>{Ensure{b.key, kDevice, {}}}, "come");
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
  CHECK_THROWS_AS(b.manager().execute_actions(std::vector<Action>{Drop{b.seed, kPinned}}, "go"), PlanError);
}

TEST_CASE(
    "R66 R21: an asynchronous expansion protects value and backing and keeps its charge until it is "
    "settled") {
  Backed b({{kPinned, 1024}, {kDevice, 2048}});
  const memory::Stream transfer = b.manager().transfer_stream(kDevice);
  b.world.stepped->hold(transfer);
  const TransitionReport report = b.manager().prefetch(b.key, kDevice);
  CHECK(report.arriving);
  CHECK(b.world.stepped->queued_copies() == 1);
  CHECK(b.counts(b.key, kDevice) == Protection{0, 0, 1});
  CHECK(b.counts(b.seed, kPinned) == Protection{0, 0, 1});
  CHECK(b.world.account(kDevice).used == 1024);
  CHECK(b.world.account(kDevice).reserved == 256);
  CHECK(b.world.accounts_hold());
  const Snapshot seen = b.manager().snapshot();
  const MaterializationSnapshot& there = seen.values.at(b.key.serial).materializations.at(0);
  CHECK(there.arriving);
  REQUIRE(there.expansion);
  CHECK(there.expansion->read_at == kPinned);
  CHECK(there.expansion->temporary == 256);
  CHECK(there.expansion->offset.has_value());
  CHECK(seen.values.at(b.key.serial).backing == b.seed);
  CHECK_THROWS_AS(b.manager().drop(b.key, kDevice), InUseError);
  CHECK_THROWS_AS(b.manager().move(b.seed, kPageable), InUseError);

  // A consumer waits on the device, and reads the expanded value.
  const memory::Stream consumer = b.world.stepped->make_stream(kDevice, "consumer");
  Lease lease = b.manager().acquire({b.key}, kDevice, consumer);
  int read = 0;
  b.world.stepped->enqueue(consumer,
                           [&, view = lease.view(b.key)] { read = static_cast<int>(view.data[1023]); });
  b.world.stepped->run_until_idle();
  CHECK(read == 0);
  b.world.stepped->let_go(transfer);
  b.world.stepped->run_until_idle();
  CHECK(read == 7);
  lease.release(true);
  CHECK_FALSE(b.counts(b.seed, kPinned).any());
  CHECK(b.world.account(kDevice).reserved == 0);
  CHECK(b.manager().snapshot().at(kDevice)->allocated == 1024);
  CHECK(b.world.accounts_hold());
}

TEST_CASE("R66 R23: a plan that moves the backing settles the expansions that read it, and says so") {
  Backed b;
  b.manager().prefetch(b.key, kDevice);
  const Plan plan{"p", {Move{b.seed, kPageable, {}}}, {}, {}, {}};
  const Explanation told = b.manager().explain(plan);
  CHECK(told.feasible);
  CHECK(told.actions.at(0).settles);
  Scope scope = b.manager().scope(plan);
  scope.enter();
  CHECK_FALSE(b.counts(b.key, kDevice).any());
  scope.close();
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
}

TEST_CASE("R66 R21: an expansion arrives asynchronously at devices only, of a backing that is not pageable") {
  Backed b;
  const auto host = caught<UnavailableError>([&] { b.manager().prefetch(b.key, kPinned); });
  CHECK(std::string(host.what()) ==
        "'key' cannot arrive asynchronously at pinned-host: its expansion there runs on the host");
  b.manager().move(b.seed, kPageable);
  CHECK_THROWS_AS(b.manager().prefetch(b.key, kDevice), UnavailableError);
  b.manager().ensure(b.seed, kDevice);
  CHECK(b.manager().prefetch(b.key, kDevice).arriving);  // read in place
}

TEST_CASE("R66 R22: an expansion comes after the arrival of the backing that it reads") {
  Backed b;
  const memory::Stream transfer = b.manager().transfer_stream(kDevice);
  b.world.stepped->hold(transfer);
  b.manager().prefetch(b.seed, kDevice);
  b.manager().prefetch(b.key, kDevice, {}, b.world.stepped->make_stream(kDevice, "other"));
  b.world.stepped->run_until_idle();
  CHECK(b.counts(b.key, kDevice).pending == 1);
  b.world.stepped->let_go(transfer);
  b.manager().settle(b.key, kDevice);
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
}

TEST_CASE("R66 R64: a backing on a device that is no peer is staged at its own size") {
  Backed b({{kPinned, 512}});
  b.manager().move(b.seed, kOther);
  const TransitionReport report = b.manager().ensure(b.key, kDevice);
  CHECK(report.source == kOther);
  CHECK(b.world.account(kPinned).peak_charged == 256);
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
  b.manager().drop(b.key, kDevice);
  const Reservation rest = b.manager().reserve(kPinned, 512, "rest");
  CHECK(caught<BudgetError>([&] { b.manager().ensure(b.key, kDevice); }).at == kPinned);
  CHECK(b.world.accounts_hold());
}

TEST_CASE("R66 R27: both blocks find room by compaction, as explained") {
  Backed b({{kDevice, 2048}});
  std::vector<HandleId> fillers;
  for (int i = 0; i < 8; ++i) fillers.push_back(b.world.put("filler", 256, kDevice));
  for (const std::size_t i : {1, 2, 3, 5, 6, 7}) b.manager().move(fillers[i], kPageable);
  const Explanation told = b.manager().explain(Plan{"p", {}, {}, {Ensure{b.key, kDevice, {}}}, {}});
  REQUIRE(told.feasible);
  const TransitionReport report = b.manager().ensure(b.key, kDevice);
  CHECK(told.actions.at(0).compacted > 0);
  CHECK(report.compacted == told.actions.at(0).compacted);
  CHECK(b.world.first_byte(b.key, kDevice) == 7);
}

TEST_CASE(
    "R66: the last copy of a backing stays while a value lives that it backs, whatever may rebuild it") {
  World world;
  const HandleId seed = world.source("seed", 256, kPinned, 6);
  CHECK(caught<UnavailableError>([&] {
          world.manager->register_backed(reconstructible("key", 1024), seed, plus_one(world.stepped));
        }).what() == std::string("'seed' has no copy, so nothing can be expanded from it"));
  world.manager->ensure(seed, kPinned);
  const HandleId key =
      world.manager->register_backed(reconstructible("key", 1024), seed, plus_one(world.stepped));
  const auto drop = caught<OwnershipError>([&] { world.manager->drop(seed, kPinned); });
  CHECK(std::string(drop.what()) ==
        "'seed' at pinned-host is the last copy of what 1 values are expanded from, 'key' the first of them");
  world.manager->ensure(key, kDevice);
  CHECK_THROWS_AS(world.manager->drop(seed, kPinned), OwnershipError);
  world.manager->ensure(seed, kPageable);
  CHECK_NOTHROW(world.manager->drop(seed, kPinned));
  world.manager->discard(key);
  CHECK_NOTHROW(world.manager->drop(seed, kPageable));
}

TEST_CASE("R66: the last copy of a value that has a backing may go, and it comes back the same") {
  Backed b;
  b.manager().ensure(b.key, kDevice);
  b.manager().drop(b.key, kDevice);
  CHECK(b.manager().snapshot().values.at(b.key.serial).materializations.empty());
  b.manager().ensure(b.key, kOther);
  CHECK(b.world.first_byte(b.key, kOther) == 7);
}

TEST_CASE("R66: a backing is discarded once all that it backs have a copy, which then has to stay") {
  Backed b;
  const HandleId second =
      b.manager().register_backed(reconstructible("second", 512), b.seed, plus_one(b.world.stepped));
  b.manager().ensure(b.key, kDevice);
  const auto needed = caught<OwnershipError>([&] { b.manager().discard(b.seed); });
  CHECK(std::string(needed.what()) ==
        "'seed' cannot be discarded: 1 values that are expanded from it have no copy, 'second' the first of "
        "them");
  b.manager().discard(second);
  CHECK_NOTHROW(b.manager().discard(b.seed));
  const auto stays = caught<OwnershipError>([&] { b.manager().drop(b.key, kDevice); });
  CHECK(std::string(stays.what()) == "'key' at cuda:0 is the last copy, and its backing 'seed' is discarded");
  CHECK(b.manager().move(b.key, kPinned).work == Transition::Work::copy);
  CHECK(b.world.first_byte(b.key, kPinned) == 7);
  CHECK_NOTHROW(b.manager().discard(b.key));
}

TEST_CASE("R66: one level: what has a backing backs nothing, and what has one is reconstructible") {
  Backed b;
  b.manager().ensure(b.key, kDevice);
  const Expand expand = plus_one(b.world.stepped);
  CHECK_THROWS_AS(b.manager().register_backed(reconstructible("k", 256), b.key, expand),
                  std::invalid_argument);
  CHECK_THROWS_AS(b.manager().register_backed(make_spec("k", 256), b.seed, expand), std::invalid_argument);
  CHECK_THROWS_AS(b.manager().register_backed(reconstructible("k", 256), b.seed, {}), std::invalid_argument);
  CHECK_THROWS_AS(b.manager().register_backed(reconstructible("k", 256), {b.seed.manager, 99}, expand),
                  HandleError);
  CHECK(b.manager().snapshot().values.size() == 2);
}

TEST_CASE("R66: each call that fails leaves placement, charges and storage as they were, expand's own too") {
  for (const int which : {0, 1, 2}) {
    for (const Call call : {Call::allocate, Call::copy, Call::record, Call::synchronize, Call::enqueue}) {
      CAPTURE(which);
      CAPTURE(static_cast<int>(call));
      for (std::uint64_t k = 1;; ++k) {
        const auto faulty = std::make_shared<fheres::test::FaultyDriver>(memory::make_stepped_driver());
        ManagerOptions options;
        options.budgets = {{kDevice, 4096}, {kPinned, 4096}};
        Manager manager(faulty, options);
        const HandleId seed = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("seed", 256));
        const HandleId key = manager.register_backed(reconstructible("key", 1024), seed, plus_one(faulty));
        const auto run = [&] {
          if (which == 0) manager.ensure(key, kDevice);
          if (which == 1) manager.prefetch(key, kDevice);
          if (which == 2) manager.ensure(key, kPageable);
        };
        const std::string before = placement(manager);
        const auto failures = faulty->failures();
        faulty->fail(call, k);
        bool failed = false;
        try {
          run();
        } catch (const Error&) {
          failed = true;
        }
        if (faulty->failures() == failures) break;  // there is no k-th call
        CHECK(failed);
        CHECK(placement(manager) == before);
        const State state = manager.planning_state();
        const auto counted = state.recount();
        for (std::size_t i = 0; i < counted.size(); ++i)
          CHECK(counted[i].reserved == state.accounts()[i].reserved);
        CHECK_NOTHROW(run());
        manager.close();
      }
    }
  }
}

TEST_CASE(
    "R66 R20: an expansion that throws after it has queued work frees nothing that the work still writes") {
  World world;
  const HandleId seed = world.put("seed", 256, kPinned, 6);
  const Expand good = plus_one(world.stepped);
  const HandleId key = world.manager->register_backed(
      reconstructible("key", 1024), seed,
      [&](const BlockView& from, const ExpandTarget& to, const memory::Stream& stream) {
        good(from, to, stream);
        throw std::runtime_error("too late");
      });
  CHECK_THROWS_AS(world.manager->ensure(key, kDevice), std::runtime_error);
  CHECK_FALSE(world.stepped->step());
  CHECK(world.account(kDevice).used == 0);
  CHECK(world.manager->snapshot().values.at(key.serial).materializations.empty());
}

TEST_CASE("R66 R18: the manager stays open during an expansion, but for what needs the transition itself") {
  World world;
  const HandleId seed = world.put("seed", 256, kPinned, 6);
  const Hold kept = world.manager->hold({seed}, kPinned);
  int looked = 0;
  const HandleId key = world.manager->register_backed(
      reconstructible("key", 1024), seed, [&](const BlockView&, const ExpandTarget&, const memory::Stream&) {
        looked += world.manager->snapshot().values.size() == 2 ? 1 : 0;
        CHECK_THROWS_AS(world.manager->ensure(seed, kPageable), ReentrancyError);
        CHECK_THROWS_AS(world.manager->reserve(kPinned, 256, "r"), ReentrancyError);
      });
  CHECK_NOTHROW(world.manager->ensure(key, kPageable));
  CHECK(looked == 1);
}

TEST_CASE("R66: a manager that goes without close keeps what a running expansion reads and writes") {
  Backed b;
  b.world.stepped->hold(b.manager().transfer_stream(kDevice));
  const memory::Stream transfer = b.manager().transfer_stream(kDevice);
  b.manager().prefetch(b.key, kDevice);
  b.world.manager.reset();
  CHECK(b.world.warnings.size() == 1);
  b.world.stepped->let_go(transfer);
  CHECK(b.world.stepped->run_until_idle() > 0);
}
