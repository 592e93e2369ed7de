#include <functional>
#include <stdexcept>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/faulty_driver.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;
using fheres::test::Call;

namespace {

struct FaultyWorld {
  FaultyWorld() {
    ManagerOptions options;
    options.budgets = {{kDevice, 4096}, {kPinned, 4096}};
    options.warn = [this](const std::string& line) { warnings.push_back(line); };
    manager = std::make_unique<Manager>(faulty, options);
    x = manager->adopt(manager->allocate(kPinned, 700), kPinned, make_spec("x", 700));
    s = manager->register_source(
        reconstructible("s", 700), [](LoadContext& context) { return context.allocate(); }, kPinned);
  }
  std::shared_ptr<fheres::test::FaultyDriver> faulty =
      std::make_shared<fheres::test::FaultyDriver>(memory::make_stepped_driver());
  std::vector<std::string> warnings;
  std::unique_ptr<Manager> manager;
  HandleId x, s;
};

}  // namespace

TEST_CASE("R20: each copy, event and wait that fails leaves placement, charges and storage as they were") {
  const std::vector<std::function<void(FaultyWorld&)>> transitions = {
      [](FaultyWorld& w) { w.manager->ensure(w.x, kDevice); },
      [](FaultyWorld& w) { w.manager->move(w.x, kDevice); },
      [](FaultyWorld& w) { w.manager->ensure(w.x, kPageable); },
      [](FaultyWorld& w) { w.manager->ensure(w.s, kDevice); },
      [](FaultyWorld& w) { w.manager->ensure(w.s, kPageable); },
  };
  for (std::size_t which = 0; which < transitions.size(); ++which) {
    for (const Call call : {Call::allocate, Call::copy, Call::record, Call::synchronize}) {
      CAPTURE(which);
      CAPTURE(static_cast<int>(call));
      for (std::uint64_t k = 1;; ++k) {
        FaultyWorld world;
        const std::string before = placement(*world.manager);
        const auto failures = world.faulty->failures();
        world.faulty->fail(call, k);
        bool failed = false;
        try {
          transitions[which](world);
        } catch (const Error&) {
          failed = true;
        }
        if (world.faulty->failures() == failures) break;  // there is no k-th call
        CHECK(failed);
        CHECK(placement(*world.manager) == before);
        CHECK_NOTHROW(transitions[which](world));
        const State state = world.manager->planning_state();
        const auto counted = state.recount();
        for (std::size_t i = 0; i < counted.size(); ++i) {
          CHECK(counted[i].used == state.accounts()[i].used);
          CHECK(counted[i].reserved == state.accounts()[i].reserved);
        }
      }
    }
  }
}

TEST_CASE("R20: a copy that cannot even be waited for keeps its storage, and says so when no lock is held") {
  FaultyWorld world;
  world.faulty->fail(Call::record, 1);
  world.faulty->fail(Call::synchronize, 1);
  CHECK_THROWS_AS(world.manager->ensure(world.x, kDevice), memory::DeviceError);
  CHECK(world.warnings.size() == 1);
  const Snapshot seen = world.manager->snapshot();
  CHECK(seen.at(kDevice)->account.used == 0);
  CHECK(seen.at(kDevice)->allocated == 768);
  CHECK_NOTHROW(world.manager->ensure(world.x, kDevice));
}

TEST_CASE("R26: accounts equal a recount after an injected failure of a load, and the next try works") {
  FaultyWorld world;
  int tries = 0;
  const HandleId s = world.manager->register_source(
      reconstructible("t", 512),
      [&](LoadContext& context) {
        memory::Block block = context.allocate();
        if (++tries == 1) throw std::runtime_error("first try");
        return block;
      },
      kPinned);
  CHECK_THROWS_AS(world.manager->ensure(s, kDevice), std::runtime_error);
  const State state = world.manager->planning_state();
  const auto counted = state.recount();
  for (std::size_t i = 0; i < counted.size(); ++i) {
    CHECK(counted[i].used == state.accounts()[i].used);
    CHECK(counted[i].reserved == state.accounts()[i].reserved);
  }
  CHECK(world.manager->snapshot().at(kDevice)->allocated == 0);
  CHECK_NOTHROW(world.manager->ensure(s, kDevice));
}

TEST_CASE("R20: a source's queued copy is over before its block is freed, also where waiting for it failed") {
  const auto stepped = memory::make_stepped_driver();
  const auto faulty = std::make_shared<fheres::test::FaultyDriver>(stepped);
  Manager manager(faulty, {});
  std::vector<std::byte> bytes(512, std::byte{7});
  const HandleId s = manager.register_source(
      reconstructible("s", 512),
      [&](LoadContext& context) {
        memory::Block block = context.allocate();
        context.driver().copy(context.stream(), block.extent(), {kPageable, bytes.data(), bytes.size()});
        return block;
      },
      kDevice);
  faulty->fail(Call::synchronize, 1);
  CHECK_THROWS_AS(manager.ensure(s, kDevice), memory::DeviceError);
  CHECK_FALSE(stepped->step());  // nothing is queued any more that could write into the freed block
  CHECK(manager.snapshot().values.front().materializations.empty());
  CHECK_NOTHROW(manager.ensure(s, kDevice));
}
