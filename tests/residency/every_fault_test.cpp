// The k-th allocation, copy, event, wait or callback of a whole scenario fails, for every k.
#include <doctest/doctest.h>

#include "residency/fault_bench.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

void drop_where(FaultBench& bench, HandleId value, Location at) {
  bench.manager->settle(value, at);
  bench.manager->drop(value, at);
}
bool is_at(FaultBench& bench, HandleId value, Location at) {
  return bench.manager->planning_state().record(value).at(at) != nullptr;
}

}  // namespace

TEST_CASE("R20, R64: every fault of a staged copy between devices leaves things as they were") {
  for (const bool moves : {false, true}) {
    HandleId x;
    Scenario scenario;
    scenario.budgets = {{kPinned, 1024}, {kDevice, 1024}, {kOther, 1024}};
    scenario.prepare = [&](FaultBench& bench) { x = bench.put("x", 700, kDevice, 3); };
    scenario.act = [&](FaultBench& bench) {
      bench.committed(moves ? bench.manager->move(x, kOther) : bench.manager->ensure(x, kOther));
    };
    scenario.undo = [&](FaultBench& bench) { CHECK_FALSE(is_at(bench, x, kOther)); };
    CHECK(fail_at_every_call(scenario) >= 6);  // two copies, two events, a wait between them, one at the end
  }
}

TEST_CASE(
    "R20, R27: every fault of a compaction and the copy that it makes room for leaves values as they were") {
  for (const Location at : {kDevice, kPinned}) {
    CAPTURE(at.name());
    HandleId big;
    Scenario scenario;
    scenario.budgets = {{at, 10 * 1024}};
    scenario.prepare = [&](FaultBench& bench) {
      std::vector<HandleId> values;
      for (int i = 0; i < 10; ++i) {
        values.push_back(bench.put("v" + std::to_string(i), 1024, kPageable, static_cast<unsigned char>(i)));
        bench.manager->ensure(values.back(), at);
      }
      for (std::size_t i = 0; i < 10; i += 2) bench.manager->drop(values[i], at);
      big = bench.put("big", 4000, kPageable, 0xEE);
    };
    scenario.act = [&](FaultBench& bench) { bench.committed(bench.manager->ensure(big, at)); };
    scenario.undo = [&](FaultBench& bench) { CHECK_FALSE(is_at(bench, big, at)); };
    CHECK(fail_at_every_call(scenario) >= 4);
  }
}

TEST_CASE(
    "R16, R20: every fault of a load, its callback included, leaves the value unloaded and registered") {
  struct Case {
    Location source, at;
  };
  for (const Case& one :
       {Case{kPinned, kDevice}, Case{kDevice, kDevice}, Case{kPageable, kPinned}, Case{kDevice, kOther}}) {
    CAPTURE(one.source.name());
    CAPTURE(one.at.name());
    HandleId s;
    Scenario scenario;
    scenario.budgets = {{kPinned, 1024}, {kDevice, 1024}, {kOther, 1024}};
    scenario.prepare = [&](FaultBench& bench) { s = bench.source("s", 700, one.source, 5); };
    scenario.act = [&](FaultBench& bench) { bench.committed(bench.manager->ensure(s, one.at)); };
    scenario.undo = [&](FaultBench& bench) { CHECK_FALSE(is_at(bench, s, one.at)); };
    CHECK(fail_at_every_call(scenario) >= 3);
  }
}

TEST_CASE(
    "R26, R42: every fault of a scope with reservations, entry, body and exit keeps its committed prefix") {
  HandleId cold, hot, loaded, made;
  Scenario scenario;
  scenario.budgets = {{kPinned, 4096}, {kDevice, 4096}};
  scenario.prepare = [&](FaultBench& bench) {
    cold = bench.put("cold", 2048, kDevice, 1);
    hot = bench.put("hot", 1000, kPageable, 2);
    loaded = bench.source("loaded", 512, kPinned, 3);
    made = bench.announce("made", 500, 4);
  };
  scenario.act = [&](FaultBench& bench) {
    Manager& manager = *bench.manager;
    Plan plan{"stage", {}, {}, {}};
    plan.reclaim = {Move{cold, kPinned, {}}};
    plan.reservations = {{kDevice, 512, "outputs"}, {kDevice, 1024, "workspace"}};
    plan.enter = {Ensure{hot, kDevice, {}}, Ensure{loaded, kDevice, {}}};
    plan.exit = {Move{made, kPinned, {}}, Drop{hot, kDevice}, Move{cold, kDevice, {}}};
    plan.produce = {{made, kDevice, 0}};
    plan.workspace = {{1, 1024}};
    bench.run(manager.scope(plan), [&](Scope& open) {
      const Allocation work = open.reservation("workspace").allocate(1024);
      Allocation output = open.reservation("outputs").allocate(500);
      Lease inputs = manager.acquire({hot, loaded}, kDevice, bench.consumer);
      // A block may go only when nobody writes to it any more, also where the wait below fails.
      const std::shared_ptr<void> idle(nullptr, [&](void*) { bench.machine->run_until_idle(); });
      bench.faulty->enqueue(bench.consumer, [out = output.data()] { std::memset(out, 4, 500); });
      bench.faulty->synchronize(bench.consumer);
      inputs.release();
      manager.adopt(std::move(output), kDevice, made);
      bench.adopted(made, kDevice);
    });
  };
  scenario.undo = [&](FaultBench& bench) {
    const std::vector<Action> back = {Drop{hot, kDevice}, Drop{loaded, kDevice}, Move{cold, kDevice, {}}};
    bench.manager->execute_actions(back, "back");
    bench.manager->discard(made);
    made = bench.announce("made", 500, 4);
  };
  CHECK(fail_at_every_call(scenario) >= 20);
}

TEST_CASE("R21, R23: every fault of an asynchronous arrival and of settling it leaves both ends whole") {
  for (const bool staged : {false, true}) {
    CAPTURE(staged);
    const Location from = staged ? kOther : kPinned;
    HandleId x;
    Scenario scenario;
    scenario.budgets = {{kPinned, 2048}, {kDevice, 2048}, {kOther, 2048}};
    scenario.prepare = [&](FaultBench& bench) { x = bench.put("x", 700, from, 7); };
    scenario.act = [&](FaultBench& bench) {
      Manager& manager = *bench.manager;
      bench.committed(manager.prefetch(x, kDevice));
      Lease early = manager.acquire({x}, kDevice, bench.consumer);
      early.release();
      manager.settle(x, kDevice);
      bench.machine->run_until_idle();
      bench.committed(manager.drop(x, from));
      bench.committed(manager.prefetch(x, from));
      manager.settle(x, from);
      bench.committed(manager.drop(x, kDevice));
    };
    scenario.undo = [&](FaultBench& bench) {
      if (!is_at(bench, x, from)) bench.manager->ensure(x, from);
      if (is_at(bench, x, kDevice)) drop_where(bench, x, kDevice);
    };
    CHECK(fail_at_every_call(scenario) >= 6);
  }
}

TEST_CASE(
    "R21, R39, R42: every fault of a plan that prefetches and removes an end keeps its committed prefix") {
  HandleId x, y;
  Scenario scenario;
  scenario.budgets = {{kPinned, 2048}, {kDevice, 2048}};
  scenario.prepare = [&](FaultBench& bench) {
    x = bench.put("x", 512, kPageable, 8);
    y = bench.put("y", 700, kPinned, 9);
  };
  scenario.act = [&](FaultBench& bench) {
    Plan plan{"ahead", {}, {}, {Ensure{x, kDevice, {}}}};
    plan.prefetch = {Ensure{y, kDevice, {}, true}};
    plan.exit = {Drop{y, kPinned}, Move{y, kPinned, {}}, Drop{x, kDevice}};
    bench.run(bench.manager->scope(plan), [&](Scope&) {
      Lease both = bench.manager->acquire({x, y}, kDevice, bench.consumer);
      both.release();
    });
  };
  scenario.undo = [&](FaultBench& bench) {
    const std::vector<Action> back = {Ensure{y, kPinned, {}}, Drop{y, kDevice}, Drop{x, kDevice}};
    bench.manager->execute_actions(back, "back");
  };
  CHECK(fail_at_every_call(scenario) >= 8);
}

TEST_CASE("R4, R38: every fault of blocks and their adoption leaves no block and no charge behind") {
  std::vector<HandleId> made;
  Scenario scenario;
  // pageable-host has no region: each block is an allocation of its own.
  scenario.budgets = {{kDevice, 4096}, {kPageable, 4096}};
  scenario.prepare = [&](FaultBench&) { made.clear(); };
  scenario.act = [&](FaultBench& bench) {
    Manager& manager = *bench.manager;
    for (const Location at : {kPageable, kDevice, kPinned}) {
      Reservation outputs = manager.reserve(at, 1024, "outputs");
      Allocation first = outputs.allocate(700);
      Allocation second = outputs.allocate(256);
      Allocation alone = manager.allocate(at, 300);
      std::memset(first.data(), 1, 700);
      std::memset(alone.data(), 2, 300);
      made.push_back(bench.filled(manager.adopt(std::move(first), at, make_spec("first", 700)), 1));
      made.push_back(bench.filled(manager.adopt(std::move(alone), at, make_spec("alone", 300)), 2));
    }
  };
  scenario.undo = [&](FaultBench& bench) {
    for (const HandleId value : made) bench.manager->discard(value);
    made.clear();
  };
  CHECK(fail_at_every_call(scenario) >= 3);
}

TEST_CASE("R32, R34: every fault of leases and their release ends every protection") {
  HandleId x;
  Scenario scenario;
  scenario.budgets = {{kPinned, 1024}, {kDevice, 1024}};
  scenario.prepare = [&](FaultBench& bench) {
    x = bench.put("x", 700, kPinned, 6);
    bench.manager->ensure(x, kDevice);
  };
  scenario.act = [&](FaultBench& bench) {
    const memory::Stream second = bench.faulty->make_stream(kDevice, "second");
    for (const bool wait : {false, true}) {
      Lease lease = bench.manager->acquire({x}, kDevice, bench.consumer);
      lease.add_consumer_stream(second);
      bench.faulty->enqueue(second, [] {});
      lease.release(wait);
    }
    const Hold hold = bench.manager->hold({x}, kPinned);
    const Lease dropped = bench.manager->acquire({x}, kDevice, second);
  };
  scenario.undo = [](FaultBench&) {};
  CHECK(fail_at_every_call(scenario) >= 8);
}
