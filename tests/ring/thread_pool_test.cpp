#include "ring/cpu/thread_pool.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using fheres::ring::cpu::parallel_for;

TEST_CASE("every item runs exactly once, from several callers at a time") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&wrong] {
      for (std::size_t count = 0; count < 200; ++count) {
        std::vector<std::atomic<int>> hits(count);
        parallel_for(count, [&](std::size_t i) { ++hits[i]; });
        for (const auto& hit : hits) {
          if (hit != 1) ++wrong;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}
