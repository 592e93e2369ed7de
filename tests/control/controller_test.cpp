#include <cstring>
#include <stdexcept>

#include <doctest/doctest.h>

#include <fheres/control/controller.hpp>
#include <fheres/memory/emulated.hpp>
#include <fheres/residency/errors.hpp>

#include "world.hpp"

using namespace fheres;
using namespace fheres::control;
using namespace fheres::control::testing;

namespace {

// A manager that really holds its values, on the driver whose work completes when somebody waits for it.
struct House {
  explicit House(std::map<Location, Bytes> budgets, DeterministicTieredLRU::Tiers tiers = {})
      : driver(memory::make_stepped_driver({.devices = 2})) {
    residency::ManagerOptions options;
    options.budgets = std::move(budgets);
    options.warn = [this](const std::string& line) { warnings.push_back(line); };
    manager = std::make_unique<residency::Manager>(driver, options);
    controller =
        std::make_unique<Controller>(*manager, std::make_shared<DeterministicTieredLRU>(std::move(tiers)));
    stream = driver->make_stream(cuda0, "consumer");
  }

  HandleId put(const std::string& name, Bytes bytes, std::initializer_list<Location> at,
               unsigned char fill = 0) {
    residency::Allocation block = manager->allocate(*at.begin(), bytes);
    std::memset(block.data(), fill, block.bytes());
    const HandleId value = manager->adopt(std::move(block), *at.begin(),
                                          World::spec(name, bytes, residency::ReplicaMode::replicable,
                                                      residency::Recoverability::must_preserve));
    for (const Location where : at) manager->ensure(value, where);
    return value;
  }
  bool holds(HandleId value, Location at) {
    return manager->planning_state().record(value).at(at) != nullptr;
  }
  Bytes reserved(Location at) { return manager->planning_state().account(at)->reserved; }

  std::shared_ptr<memory::SteppedDriver> driver;
  std::vector<std::string> warnings;
  std::unique_ptr<residency::Manager> manager;
  std::unique_ptr<Controller> controller;
  memory::Stream stream;
};

constexpr Bytes kPage = 4096;

}  // namespace

TEST_CASE("R61 a decision runs as a scope: victims go, endpoints come and stay") {
  House house({{cuda0, 4 * kPage}});
  const HandleId cold = house.put("cold", 2 * kPage, {pageable, cuda0});
  const HandleId a = house.put("a", 2 * kPage, {pageable});
  const Request request{"r", {{a, cuda0}}, {{cuda0, kPage, "workspace"}}};
  const Decision decision = house.controller->decide(request);
  CHECK(victims(decision) == "cold at cuda:0");
  CHECK(house.holds(cold, cuda0));  // nothing is executed yet
  residency::Scope scope = house.controller->scope(decision);
  scope.enter();
  CHECK_FALSE(house.holds(cold, cuda0));
  CHECK(house.holds(a, cuda0));
  CHECK(house.reserved(cuda0) == kPage);
  scope.close();
  CHECK(house.reserved(cuda0) == 0);
  CHECK(house.holds(a, cuda0));
}

TEST_CASE("R56 deciding with a manager gives what deciding on its state alone gives") {
  House house({{cuda0, 4 * kPage}});
  house.put("cold", 2 * kPage, {pageable, cuda0});
  const HandleId a = house.put("a", 3 * kPage, {pageable});
  const Request request{"r", {{a, cuda0}}, {}};
  const std::uint64_t version = house.manager->state_version();
  const Decision with = house.controller->decide(request);
  const Decision alone = decision_or_throw(
      decide(house.manager->planning_state(), request, house.controller->policy(), ValueMetadata{}));
  CHECK(with.plan == alone.plan);
  CHECK(with.expected_version == alone.expected_version);
  CHECK(house.manager->state_version() == version);
}

TEST_CASE("R61 a stale decision does not enter, and changes nothing") {
  House house({{cuda0, 4 * kPage}});
  const HandleId cold = house.put("cold", 2 * kPage, {pageable, cuda0});
  const HandleId a = house.put("a", 3 * kPage, {pageable});
  const Decision decision = house.controller->decide({"r", {{a, cuda0}}, {}});
  house.put("other", kPage, {pageable});
  residency::Scope scope = house.controller->scope(decision);
  CHECK_THROWS_AS(scope.enter(), residency::StaleStateError);
  CHECK(house.holds(cold, cuda0));
}

TEST_CASE("R61 a decision of another controller or manager is refused") {
  House house({{cuda0, 4 * kPage}}), other({{cuda0, 4 * kPage}});
  const HandleId a = house.put("a", kPage, {pageable});
  const Decision decision = house.controller->decide({"r", {{a, cuda0}}, {}});
  Controller second(*house.manager, std::make_shared<DeterministicTieredLRU>());
  CHECK_THROWS_AS(second.scope(decision), std::invalid_argument);
  CHECK_THROWS_AS(other.controller->scope(decision), std::invalid_argument);
  CHECK_NOTHROW(house.controller->scope(decision));
}

TEST_CASE("R60 a controller throws PlanError for what is infeasible") {
  House house({{cuda0, 2 * kPage}});
  const HandleId a = house.put("a", 3 * kPage, {pageable});
  const Request request{"r", {{a, cuda0}}, {}};
  CHECK_THROWS_AS(house.controller->decide(request), residency::PlanError);
  CHECK(std::holds_alternative<Infeasible>(house.controller->try_decide(request)));
}

TEST_CASE("R62 using a request decides, enters, and leases every endpoint") {
  House house({{cuda0, 4 * kPage}});
  house.put("cold", 2 * kPage, {pageable, cuda0});
  const HandleId a = house.put("a", 2 * kPage, {pageable}, 17);
  const HandleId b = house.put("b", kPage, {pageable}, 23);
  Use use = house.controller->use({"r", {{a, cuda0}, {b, pageable}}, {{cuda0, kPage, "workspace"}}},
                                  {{cuda0, house.stream}});
  CHECK(use.open());
  CHECK(static_cast<int>(*use.value(a, cuda0).data) == 17);
  CHECK(static_cast<int>(*use[{b, pageable}].data) == 23);
  CHECK_THROWS_AS(use.value(b, cuda0), residency::HandleError);
  CHECK_THROWS_AS(use.value(a, cuda1), residency::HandleError);
  CHECK(use.reservation("workspace").spec().bytes == kPage);
  CHECK(victims(use.decision()) == "cold at cuda:0");
  CHECK_THROWS_AS(house.manager->drop(a, cuda0), residency::InUseError);
  use.close();
  CHECK_FALSE(use.open());
  CHECK_THROWS_AS(use.value(a, cuda0), residency::LifetimeClosedError);
  CHECK(use.report().actions.size() == 3);
  CHECK(use.decision().request == "r");
  CHECK(house.holds(a, cuda0));
  CHECK(house.reserved(cuda0) == 0);
  CHECK(house.warnings.empty());
}

TEST_CASE("R62 consumer streams are for exactly the requested cuda locations, checked before the decision") {
  House house({{cuda0, 4 * kPage}});
  const HandleId a = house.put("a", 9 * kPage, {pageable});  // would be infeasible, if it came to that
  const memory::Stream other = house.driver->make_stream(cuda1, "other");
  const auto with = [&](const ConsumerStreams& consumers) {
    CHECK_THROWS_AS(house.controller->use({"r", {{a, cuda0}}, {}}, consumers), std::invalid_argument);
  };
  with({});
  with({{cuda0, memory::Stream{}}});
  with({{cuda0, other}});
  with({{cuda0, house.stream}, {cuda1, other}});
  CHECK_THROWS_AS(house.controller->use({"r", {{a, pageable}}, {}}, {{pageable, house.stream}}),
                  std::invalid_argument);
  CHECK_THROWS_AS(house.controller->use({"r", {{a, cuda0}}, {}}, {{cuda0, house.stream}}),
                  residency::PlanError);
}

TEST_CASE("R62 R54 a successful use makes its values the last to go") {
  House house({{cuda0, 3 * kPage}});
  const HandleId first = house.put("first", kPage, {pageable, cuda0});
  house.put("second", kPage, {pageable, cuda0});
  const HandleId third = house.put("third", kPage, {pageable, cuda0});
  house.controller->use({"use", {{first, cuda0}}, {}}, {{cuda0, house.stream}}).close(true);
  CHECK(house.controller->metadata(first).access_epoch == 1);
  CHECK(house.controller->metadata(third).access_epoch == 0);
  const HandleId a = house.put("a", 2 * kPage, {pageable});
  CHECK(victims(house.controller->decide({"r", {{a, cuda0}}, {}})) == "second at cuda:0, third at cuda:0");
}

TEST_CASE("R62 a use whose source fails leaves no lease, no reservation and no access behind") {
  House house({{cuda0, 4 * kPage}});
  const HandleId broken = house.manager->register_source(
      World::spec("broken", kPage, residency::ReplicaMode::replicable,
                  residency::Recoverability::reconstructible),
      [](residency::LoadContext&) -> residency::Loaded { throw std::runtime_error("the file is gone"); },
      pageable);
  const HandleId a = house.put("a", kPage, {pageable});
  CHECK_THROWS_AS(house.controller->use({"r", {{a, cuda0}, {broken, cuda0}}, {{cuda0, kPage, "workspace"}}},
                                        {{cuda0, house.stream}}),
                  residency::PlanExecutionError);
  CHECK(house.reserved(cuda0) == 0);
  CHECK(house.controller->metadata(a).access_epoch == 0);
  CHECK(house.holds(a, cuda0));  // what was done stays
  CHECK_NOTHROW(house.manager->drop(a, cuda0));
}

TEST_CASE("R62 a body's exception comes out after everything is released") {
  House house({{cuda0, 4 * kPage}});
  const HandleId a = house.put("a", kPage, {pageable});
  Use use =
      house.controller->use({"r", {{a, cuda0}}, {{cuda0, kPage, "workspace"}}}, {{cuda0, house.stream}});
  CHECK_THROWS_WITH(use.run([](Use&) { throw std::runtime_error("the body failed"); }), "the body failed");
  CHECK_FALSE(use.open());
  CHECK(use.exit_error() == nullptr);
  CHECK(house.reserved(cuda0) == 0);
}

TEST_CASE("R62 a use that is dropped open closes itself, without a warning") {
  House house({{cuda0, 4 * kPage}});
  const HandleId a = house.put("a", kPage, {pageable});
  {
    const Use use =
        house.controller->use({"r", {{a, cuda0}}, {{cuda0, kPage, "w"}}}, {{cuda0, house.stream}});
    CHECK(use.open());
  }
  CHECK(house.reserved(cuda0) == 0);
  CHECK(house.warnings.empty());
  house.driver->run_until_idle();
  CHECK_NOTHROW(house.manager->close());
}

TEST_CASE("R55 metadata is for live values, and a discarded value gives its key back") {
  House house({{cuda0, 4 * kPage}});
  const HandleId a = house.put("a", kPage, {pageable});
  const HandleId b = house.put("b", kPage, {pageable});
  house.controller->set_metadata(a, 3, "key");
  CHECK_THROWS_AS(house.controller->set_metadata(b, 0, "key"), std::invalid_argument);
  house.manager->discard(a);
  CHECK_THROWS_AS(house.controller->set_metadata(a, 1), residency::HandleError);
  CHECK_NOTHROW(house.controller->set_metadata(b, 0, "key"));
  CHECK(house.controller->metadata(b).stable_key == "key");
}
