// The k-th allocation, copy, event, wait or callback of a use fails, for every k.
#include <doctest/doctest.h>

#include <fheres/control/controller.hpp>

#include "residency/fault_bench.hpp"

using namespace fheres;
using namespace fheres::residency::test;
using control::Controller;
using residency::HandleId;
using residency::Location;

TEST_CASE(
    "R62: every fault of a use leaves no lease, no reservation and no access, and what it evicted is told") {
  HandleId cold, warm, a, s;
  Scenario scenario;
  scenario.budgets = {{kPinned, 4096}, {kDevice, 4096}};
  scenario.prepare = [&](FaultBench& bench) {
    cold = bench.put("cold", 2048, kDevice, 1);
    warm = bench.put("warm", 1024, kPinned, 2);
    bench.manager->ensure(warm, kDevice);
    a = bench.put("a", 1500, kPinned, 3);
    s = bench.source("s", 700, kPageable, 4);
  };
  scenario.act = [&](FaultBench& bench) {
    const auto policy = std::make_shared<control::DeterministicTieredLRU>(
        control::DeterministicTieredLRU::Tiers{{kDevice, {kPinned, kPageable}}, {kPinned, {kPageable}}});
    Controller controller(*bench.manager, policy);
    const control::Request request{
        "r", {{a, kDevice}, {s, kDevice}, {a, kPinned}}, {{kDevice, 1024, "workspace"}}};
    bench.manager->clear_trace();
    // The trace is the only witness of a use that throws before there is one.
    const auto note = [&] {
      for (const residency::TransitionReport& report : bench.manager->trace()) bench.committed(report);
    };
    bool in_use = false;
    try {
      control::Use use = controller.use(request, {{kDevice, bench.consumer}});
      in_use = true;
      CHECK_FALSE(use.decision().evictions.empty());
      use.run([&](control::Use& open) {
        CHECK(static_cast<int>(*open.value(a, kPinned).data) == 3);
        bench.faulty->enqueue(bench.consumer, [] {});
        const residency::Allocation work = open.reservation("workspace").allocate(1024);
      });
    } catch (...) {
      note();
      CHECK((controller.metadata(a).access_epoch != 0) == in_use);
      throw;
    }
    note();
    CHECK(controller.metadata(a).access_epoch != 0);
  };
  scenario.undo = [&](FaultBench& bench) {
    for (const HandleId value : {a, s}) bench.manager->drop(value, kDevice);
    bench.manager->move(cold, kDevice);
    bench.manager->ensure(warm, kPinned);
    bench.manager->ensure(warm, kDevice);
  };
  CHECK(fail_at_every_call(scenario) >= 8);
}
