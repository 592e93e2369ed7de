#include <doctest/doctest.h>

#include "residency/world.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

Manager make(std::size_t capacity) {
  ManagerOptions options;
  options.trace_capacity = capacity;
  return Manager(memory::make_stepped_driver(), options);
}

}  // namespace

TEST_CASE("R51: each completed transition is reported with its action, endpoints, bytes and times") {
  World world;
  const HandleId x = world.put("x", 300, kPinned);
  world.manager->ensure(x, kDevice);
  world.manager->ensure(x, kDevice);
  CHECK_THROWS(world.manager->ensure(x, kDevice, kPageable));
  const auto trace = world.manager->trace();
  REQUIRE(trace.size() == 2);
  CHECK(trace[0].sequence == 0);
  CHECK(trace[0].action == Action{Ensure{x, kDevice, {}}});
  CHECK(trace[0].source == kPinned);
  CHECK(trace[0].destination == kDevice);
  CHECK(trace[0].bytes == 300);
  CHECK(trace[0].end_ns >= trace[0].start_ns);
  CHECK(trace[1].no_op());
  CHECK(trace[1].no_op_reason == "already there");
}

TEST_CASE("R51: the trace keeps the newest, and clearing it changes no state") {
  const auto check = [](std::size_t capacity, std::size_t kept) {
    Manager manager = make(capacity);
    const HandleId x = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("x", 256));
    const std::vector<Action> actions = {Ensure{x, kDevice, {}}, Ensure{x, kPageable, {}}, Drop{x, kDevice}};
    const PlanReport report = manager.execute_actions(actions, "raw");
    CHECK(report.actions.size() == 3);
    const auto trace = manager.trace();
    REQUIRE(trace.size() == kept);
    if (kept != 0) CHECK(trace.back().sequence == 2);
    const auto version = manager.state_version();
    manager.clear_trace();
    CHECK(manager.trace().empty());
    CHECK(manager.state_version() == version);
  };
  check(0, 0);
  check(2, 2);
  check(8, 3);
}
