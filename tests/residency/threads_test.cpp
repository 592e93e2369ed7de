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

TEST_CASE(
    "R18, R21, R22: threads that prefetch, settle, load, read and snapshot at once agree with the rules, and "
    "none "
    "waits for ever") {
  const std::uint64_t seed = fheres::test::test_seed(11);
  CAPTURE(seed);
  const Location other = Location::cuda(1);
  const auto driver = memory::make_emulated_driver({.devices = 2});
  ManagerOptions options;
  options.budgets = {{kDevice, 10 * 256}, {other, 8 * 256}, {kPinned, 12 * 256}};
  Manager manager(driver, options);
  std::vector<HandleId> values;
  std::atomic<int> loads{0}, arrived{0}, unexpected{0}, wrong{0};
  for (int i = 0; i < 6; ++i) {
    Allocation block = manager.allocate(kPageable, 512);
    std::memset(block.data(), i + 1, 512);
    values.push_back(manager.adopt(std::move(block), kPageable, make_spec("v", 512)));
  }
  for (int i = 6; i < 9; ++i) {
    // Made by work in the transition's stream where there is one, so that a load takes its time.
    const auto load = [&loads, i](LoadContext& context) {
      ++loads;
      memory::Block block = context.allocate();
      const auto fill = [data = block.data(), i] { std::memset(data, i + 1, 512); };
      if (context.stream()) {
        context.driver().enqueue(context.stream(), fill);
      } else {
        fill();
      }
      return block;
    };
    values.push_back(manager.register_source(reconstructible("s", 512), load,
                                             i == 6   ? kPinned
                                             : i == 7 ? kDevice
                                                      : other));
  }
  const auto is = [](const BlockView& view, std::size_t which) {
    return view.data[0] == std::byte{static_cast<unsigned char>(which + 1)} && view.data[511] == view.data[0];
  };
  const Location places[] = {kPinned, kDevice, other};
  const auto work = [&](std::uint64_t mine) {
    fheres::test::Random random(seed + mine);
    const memory::Stream streams[] = {driver->make_stream(kDevice, "zero"),
                                      driver->make_stream(other, "one")};
    for (int step = 0; step < 200; ++step) {
      const std::size_t which = random.below(values.size());
      const HandleId value = values[which];
      const Location at = places[random.below(3)];
      try {
        switch (random.below(9)) {
          case 0:
          case 1:
            arrived += manager.prefetch(value, at).arriving ? 1 : 0;
            break;
          case 2:
            manager.settle(value, at);
            break;
          case 3: {
            Lease lease =
                manager.acquire({value}, at, at.is_host() ? memory::Stream{} : streams[at.device()]);
            const BlockView view = lease.view(value);
            if (at.is_host()) {
              wrong += is(view, which) ? 0 : 1;
            } else {
              driver->enqueue(streams[at.device()], [&, view, which] { wrong += is(view, which) ? 0 : 1; });
            }
            lease.release(random.chance(5));
            break;
          }
          case 4: {
            for (const LocationSnapshot& l : manager.snapshot().locations)
              if (l.account.budget && l.account.used + l.account.reserved > *l.account.budget) ++unexpected;
            break;
          }
          case 5: {
            Plan plan{"p", {Drop{value, at}}, {{kDevice, 256, "w"}}, {}};
            plan.prefetch = {Ensure{values[random.below(values.size())], kDevice, {}, true}};
            manager.explain(plan);
            manager.scope(plan).run([](Scope&) {});
            break;
          }
          case 6:
            manager.drop(value, at);
            break;
          case 7:
            manager.move(value, at);
            break;
          default:
            manager.ensure(value, at);
        }
      } catch (const PlanExecutionError&) {  // another thread took the room between two of its actions
      } catch (const ResidencyError& error) {
        const std::string& code = error.code();
        const bool known = code == "residency/budget" || code == "residency/in-use" ||
                           code == "residency/unavailable" || code == "residency/ownership" ||
                           code == "residency/reentrancy" || code == "residency/plan";
        unexpected += known ? 0 : 1;
      } catch (...) {
        ++unexpected;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  CHECK(unexpected == 0);
  CHECK(loads > 0);
  CHECK(arrived > 0);
  for (const Location device : {kDevice, other}) driver->synchronize_device(device);
  CHECK(wrong == 0);
  const State state = manager.planning_state();
  const auto counted = state.recount();
  for (std::size_t i = 0; i < counted.size(); ++i) {
    CHECK(counted[i].used == state.accounts()[i].used);
    CHECK(counted[i].reserved == state.accounts()[i].reserved);
    CHECK(state.accounts()[i].reserved == 0);
  }
  for (std::size_t which = 0; which < values.size(); ++which)
    for (const Materialization& m : state.record(values[which]).materializations) {
      CHECK_FALSE(m.protection.any());
      Lease lease = manager.acquire({values[which]}, m.at,
                                    m.at.is_cuda() ? driver->make_stream(m.at, "look") : memory::Stream{});
      CHECK(is(lease.view(values[which]), which));
    }
  manager.close();
}
