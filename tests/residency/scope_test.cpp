#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

namespace {

Plan tile(HandleId x, HandleId cold) {
  Plan plan;
  plan.name = "tile";
  plan.reclaim = {Drop{cold, kDevice}};
  plan.reservations = {{kDevice, 512, "workspace"}, {kDevice, 256, "outputs"}};
  plan.enter = {Ensure{x, kDevice, {}}};
  plan.exit = {Drop{x, kDevice}};
  return plan;
}

struct TileWorld : World {
  TileWorld() : World({{kDevice, 1024}}) {
    x = put("x", 256, kPinned, 3);
    cold = put("cold", 512, kPinned);
    manager->ensure(cold, kDevice);
  }
  HandleId x, cold;
};

}  // namespace

TEST_CASE("R39: a scope runs reclaim, reservations, enter, body, exit, and releases the reservations") {
  TileWorld world;
  Scope scope = world.manager->scope(tile(world.x, world.cold));
  HandleId y{};
  scope.run([&](Scope& s) {
    CHECK(s.open());
    CHECK_FALSE(world.at(world.cold, kDevice));
    CHECK(world.at(world.x, kDevice));
    CHECK(world.account(kDevice).reserved == 768);
    Allocation work = s.reservation("workspace").allocate(512);
    Allocation out = s.reservation("outputs", kDevice).allocate(256);
    CHECK_THROWS_AS(s.reservation("nothing"), std::invalid_argument);
    y = world.manager->adopt(std::move(out), kDevice, make_spec("y", 256));
  });
  CHECK_FALSE(scope.open());
  CHECK_FALSE(world.at(world.x, kDevice));
  CHECK(world.at(y, kDevice));
  CHECK(world.account(kDevice).reserved == 0);
  const PlanReport& report = scope.report();
  REQUIRE(report.actions.size() == 3);
  CHECK(report.actions[0].phase == Phase::reclaim);
  CHECK(report.actions[1].transition.bytes == 256);
  CHECK(report.actions[2].phase == Phase::exit);
  CHECK(report.reservations.size() == 2);
  CHECK(report.version_after > report.version_before);
  REQUIRE(report.peaks.size() == 2);
  CHECK(report.peaks[1].at == kDevice);
  CHECK(report.peaks[1].charged == 1024);
  CHECK(report.peaks[1].allocated == 1024);
  CHECK(scope.explanation()->at(kDevice)->peak_charged == 1024);
  CHECK_THROWS_AS(scope.reservation("workspace"), LifetimeClosedError);
}

TEST_CASE("R39: a plan is copied, so a later change of it has no effect") {
  TileWorld world;
  Plan plan = tile(world.x, world.cold);
  Scope scope = world.manager->scope(plan);
  plan.enter.clear();
  scope.run([&](Scope&) { CHECK(world.at(world.x, kDevice)); });
  CHECK_THROWS_AS(world.manager->scope(Plan{}), std::invalid_argument);
}

TEST_CASE("R39: exit waits for consumers of what it removes, without a lock") {
  TileWorld world;
  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  Scope scope = world.manager->scope(tile(world.x, world.cold));
  scope.run([&](Scope&) {
    Lease lease = world.manager->acquire({world.x}, kDevice, stream);
    world.stepped->enqueue(stream, [] {});
  });
  CHECK(world.stepped->executed(stream) == world.stepped->submitted(stream));
  CHECK_FALSE(world.at(world.x, kDevice));
}

TEST_CASE("R41: an infeasible plan is refused at entry and nothing is executed") {
  TileWorld world;
  Plan plan = tile(world.x, world.cold);
  plan.reservations[0].bytes = 1024;
  Scope scope = world.manager->scope(plan);
  const auto version = world.manager->state_version();
  CHECK_THROWS_AS(scope.enter(), PlanError);
  CHECK(world.manager->state_version() == version);
  CHECK(world.at(world.cold, kDevice));
  REQUIRE(scope.explanation());
  CHECK_FALSE(scope.explanation()->feasible);
  CHECK(scope.explanation()->phase == Phase::reserve);
  CHECK_FALSE(scope.explanation()->at(kDevice)->holders.empty());
  CHECK_FALSE(scope.open());
  scope.close();
}

TEST_CASE("R41: what the scope predicts is what it is charged, to the byte") {
  TileWorld world;
  Plan plan = tile(world.x, world.cold);
  plan.enter.push_back(Ensure{world.cold, kPageable, {}});
  const Explanation told = world.manager->explain(plan);
  Scope scope = world.manager->scope(plan);
  scope.run([](Scope&) {});
  for (const LocationPeak& peak : scope.report().peaks) CHECK(peak.charged == told.at(peak.at)->peak_charged);
  Bytes moved = 0;
  for (const ActionReport& a : scope.report().actions) moved += a.transition.bytes;
  CHECK(moved == told.moved_bytes());
}

TEST_CASE(
    "R42: a failure while running names phase, index and cause, keeps what is committed, ends reservations") {
  const auto faulty = std::make_shared<fheres::test::FaultyDriver>(memory::make_stepped_driver());
  ManagerOptions options;
  options.budgets = {{kDevice, 1024}};
  Manager manager(faulty, options);
  const HandleId a = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("a", 256));
  const HandleId b = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("b", 256));
  Plan plan;
  plan.name = "p";
  plan.reservations = {{kDevice, 256, "w"}};
  plan.enter = {Ensure{a, kDevice, {}}, Ensure{b, kDevice, {}}};
  plan.exit = {Drop{a, kDevice}, Drop{b, kDevice}};
  Scope scope = manager.scope(plan);
  faulty->fail(fheres::test::Call::copy, 2);
  const auto error = caught<PlanExecutionError>([&] { scope.enter(); });
  CHECK(error.code() == "residency/plan-execution");
  CHECK(error.phase == Phase::enter);
  CHECK(error.index == 1);
  CHECK(error.action == plan.enter[1]);
  CHECK(error.report.actions.size() == 1);
  CHECK(error.report.reservations.size() == 1);
  CHECK_THROWS_AS(std::rethrow_exception(error.cause), memory::DeviceError);
  const State state = manager.planning_state();
  CHECK(state.record(a).at(kDevice) != nullptr);
  CHECK(state.record(b).at(kDevice) == nullptr);
  CHECK(state.account(kDevice)->reserved == 0);
  CHECK_FALSE(scope.open());
  scope.close();
  CHECK(manager.planning_state().record(a).at(kDevice) != nullptr);
  CHECK_THROWS_AS(scope.enter(), LifetimeClosedError);
  manager.close();
}

TEST_CASE("R42: a reservation that finds no storage is reported with its index") {
  World world({{kDevice, 512}});
  Plan plan;
  plan.name = "p";
  plan.reservations = {{kDevice, 256, "a"}, {kDevice, 512, "b"}};
  Scope scope = world.manager->scope(plan);
  CHECK_THROWS_AS(scope.enter(), PlanError);
  CHECK(scope.explanation()->reservations[0].executable);
  CHECK_FALSE(scope.explanation()->reservations[1].executable);
}

TEST_CASE("R43: a body's exception is the primary one, exit still runs, and its failure is kept") {
  TileWorld world;
  Scope scope = world.manager->scope(tile(world.x, world.cold));
  CHECK_THROWS_WITH(scope.run([](Scope&) { throw std::runtime_error("body"); }), "body");
  CHECK_FALSE(world.at(world.x, kDevice));
  CHECK(scope.exit_error() == nullptr);

  Scope second = world.manager->scope(tile(world.x, world.cold));
  Hold hold;
  CHECK_THROWS_WITH(second.run([&](Scope&) {
    hold = world.manager->hold({world.x}, kDevice);
    throw std::runtime_error("body");
  }),
                    "body");
  REQUIRE(second.exit_error() != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(second.exit_error()), PlanExecutionError);
  CHECK(world.account(kDevice).reserved == 0);
}

TEST_CASE("R43: without a failure of the body the failure of exit comes out") {
  TileWorld world;
  Scope scope = world.manager->scope(tile(world.x, world.cold));
  Hold hold;
  const auto error = caught<PlanExecutionError>(
      [&] { scope.run([&](Scope&) { hold = world.manager->hold({world.x}, kDevice); }); });
  CHECK(error.phase == Phase::exit);
  CHECK(error.index == 0);
  CHECK_THROWS_AS(std::rethrow_exception(error.cause), InUseError);
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(scope.report().actions.size() == 2);
}

TEST_CASE(
    "R44: a scope destroyed while open releases its reservations, runs no exit, and warns with its name") {
  TileWorld world;
  {
    Scope scope = world.manager->scope(tile(world.x, world.cold));
    scope.enter();
  }
  CHECK(world.at(world.x, kDevice));
  CHECK(world.account(kDevice).reserved == 0);
  REQUIRE(world.warnings.size() == 1);
  CHECK(world.warnings[0].find("'tile'") != std::string::npos);
}

TEST_CASE("R44: a scope is single-use, may nest, and may be abandoned in silence") {
  TileWorld world;
  Scope outer = world.manager->scope(tile(world.x, world.cold));
  outer.enter();
  CHECK_THROWS_AS(outer.enter(), LifetimeClosedError);
  Plan plan;
  plan.name = "inner";
  plan.enter = {Ensure{world.x, kPageable, {}}};
  Scope inner = world.manager->scope(plan);
  inner.run([](Scope&) {});
  inner.close();
  outer.abandon();
  CHECK(world.at(world.x, kDevice));
  CHECK(world.account(kDevice).reserved == 0);
  CHECK(world.warnings.empty());
  CHECK_THROWS_AS(outer.enter(), LifetimeClosedError);
}

TEST_CASE("R45: a raw sequence is preflighted as a whole and runs in phase execute") {
  TileWorld world;
  const std::vector<Action> bad = {Ensure{world.x, kDevice, {}}, Drop{world.x, kDevice},
                                   Drop{world.x, kPinned}};
  CHECK_THROWS_AS(world.manager->execute_actions(bad, "bad"), PlanError);
  CHECK_FALSE(world.at(world.x, kDevice));
  const std::vector<Action> good = {Ensure{world.x, kDevice, {}}, Drop{world.cold, kDevice}};
  const PlanReport report = world.manager->execute_actions(good, "good");
  CHECK(report.plan == "good");
  REQUIRE(report.actions.size() == 2);
  CHECK(report.actions[1].phase == Phase::execute);
  CHECK_THROWS_AS(world.manager->execute_actions(good, ""), std::invalid_argument);
}

TEST_CASE("R46: transfer streams are checked before anything runs, and used for entry and exit") {
  TileWorld world;
  const memory::Stream zero = world.stepped->make_stream(kDevice, "zero");
  const memory::Stream one = world.stepped->make_stream(Location::cuda(1), "one");
  Plan plan = tile(world.x, world.cold);
  plan.exit = {Ensure{world.x, kPageable, kDevice}};
  CHECK_THROWS_AS(world.manager->scope(plan, {{kDevice, one}}), std::invalid_argument);
  CHECK_THROWS_AS(world.manager->scope(plan, {{kDevice, memory::Stream{}}}), std::invalid_argument);
  Scope wrong = world.manager->scope(plan, {{kPageable, one}});
  CHECK_THROWS_AS(wrong.enter(), std::invalid_argument);
  CHECK(world.at(world.cold, kDevice));
  TransferStreams streams{{kDevice, zero}, {kPageable, zero}};
  Scope scope = world.manager->scope(plan, streams);
  streams.clear();
  scope.enter();
  const auto after_entry = world.stepped->submitted(zero);
  CHECK(after_entry > 0);
  scope.close();
  CHECK(world.stepped->submitted(zero) > after_entry);
}

TEST_CASE("R49: a version that differs is refused before anything changes, compared before reaping") {
  TileWorld world;
  const auto version = world.manager->state_version();
  Scope scope = world.manager->scope(tile(world.x, world.cold), {}, version);
  CHECK_NOTHROW(world.manager->explain(scope.plan(), version));
  const Hold hold = world.manager->hold({world.x}, kPinned);
  const auto error = caught<StaleStateError>([&] { scope.enter(); });
  CHECK(error.expected == version);
  CHECK(error.actual == version + 1);
  CHECK(error.code() == "residency/stale");
  CHECK(world.at(world.cold, kDevice));
  CHECK_THROWS_AS(world.manager->explain(scope.plan(), version), StaleStateError);
  CHECK_THROWS_AS(world.manager->execute_actions({}, "raw", {}, version), StaleStateError);

  const memory::Stream stream = world.stepped->make_stream(kDevice, "s");
  world.stepped->enqueue(stream, [] {});
  { const Lease lease = world.manager->acquire({world.cold}, kDevice, stream); }
  world.stepped->run_until_idle();
  const auto before_reaping = world.manager->state_version();
  CHECK_NOTHROW(world.manager->execute_actions({}, "raw", {}, before_reaping));
  CHECK(world.manager->state_version() > before_reaping);
}
