#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include <fheres/base/clock.hpp>
#include <fheres/runtime/interrupt.hpp>

namespace fheres::runtime {

/// Times work that is queued.
struct Stopwatch {
  int repetitions = 20;
  std::int64_t longest_ns = 0;
  const std::atomic<bool>* interrupted = nullptr;

  /// The median time of one `queue()`: many are queued, then `wait()` waits for them, so that the wait is shared. The
  /// first one of all warms up. `batch`: how many, or 0 for as many as take about a millisecond.
  template <class Queue, class Wait>
  double time(Queue&& queue, Wait&& wait, int batch = 0) const {
    const auto run = [&](int count) {
      if (interrupted != nullptr && interrupted->load()) throw Interrupted{};
      const std::int64_t start = now_ns();
      for (int i = 0; i < count; ++i) queue();
      wait();
      return static_cast<double>(now_ns() - start);
    };
    run(1);
    const double one = std::max(run(1), 1.0);
    if (batch == 0) batch = static_cast<int>(std::clamp(kBatchNs / one, 1.0, kMostQueued));
    std::vector<double> times;
    const std::int64_t start = now_ns();
    while (static_cast<int>(times.size()) < repetitions) {
      if (static_cast<int>(times.size()) >= kFewest && now_ns() - start > longest_ns) break;
      times.push_back(run(batch) / batch);
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

 private:
  static constexpr double kBatchNs = 1e6, kMostQueued = 64;
  static constexpr int kFewest = 3;
};

}  // namespace fheres::runtime
