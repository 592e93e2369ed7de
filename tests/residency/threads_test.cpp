#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "residency/world.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::residency;
using namespace fheres::residency::test;

TEST_CASE("R24: many threads never overshoot a budget, and every refusal is one of the rules") {
  const std::uint64_t seed = fheres::test::test_seed(7);
  CAPTURE(seed);
  const auto driver = memory::make_emulated_driver();
  ManagerOptions options;
  options.budgets = {{kDevice, 8 * 256}};
  Manager manager(driver, options);
  std::vector<HandleId> values;
  for (int i = 0; i < 12; ++i)
    values.push_back(manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("v", 256)));
  std::atomic<int> unexpected{0};
  const auto work = [&](std::uint64_t mine) {
    fheres::test::Random random(seed + mine);
    const memory::Stream stream = driver->make_stream(kDevice, "consumer");
    for (int step = 0; step < 150; ++step) {
      const HandleId value = values[random.below(values.size())];
      try {
        switch (random.below(5)) {
          case 0:
            manager.drop(value, kDevice);
            break;
          case 1: {
            const Lease lease = manager.acquire({value}, kDevice, stream);
            driver->enqueue(stream, [] {});
            break;
          }
          case 2: {
            const Reservation w = manager.reserve(kDevice, 256, "w");
            break;
          }
          case 3: {
            const auto seen = manager.snapshot().at(kDevice)->account;
            if (seen.used + seen.reserved > *seen.budget) ++unexpected;
            break;
          }
          default:
            manager.ensure(value, kDevice);
        }
      } catch (const BudgetError&) {
      } catch (const InUseError&) {
      } catch (const UnavailableError&) {
      } catch (...) {
        ++unexpected;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  CHECK(unexpected == 0);
  const State state = manager.planning_state();
  const auto counted = state.recount();
  for (std::size_t i = 0; i < counted.size(); ++i) CHECK(counted[i].used == state.accounts()[i].used);
  manager.close();
}

TEST_CASE(
    "R18: threads that wait for a transition raise ReentrancyError when that transition starts to load") {
  const auto driver = memory::make_emulated_driver();
  Manager manager(driver);
  const HandleId x = manager.adopt(manager.allocate(kPinned, 256), kPinned, make_spec("x", 256));
  std::atomic<bool> loading{false};
  std::atomic<int> refused{0};
  const HandleId s = manager.register_source(
      reconstructible("s", 256),
      [&](LoadContext& context) {
        loading = true;
        while (refused.load() < 3) std::this_thread::yield();
        return context.allocate();
      },
      kPinned);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!loading.load()) std::this_thread::yield();
      try {
        manager.ensure(x, kDevice);
      } catch (const ReentrancyError&) {
        ++refused;
      }
    });
  manager.ensure(s, kDevice);
  for (std::thread& t : threads) t.join();
  CHECK(refused == 3);
  manager.close();
}
