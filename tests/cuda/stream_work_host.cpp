#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fheres/base/clock.hpp>

#include "cuda/stream_work.hpp"

namespace fheres::test {
namespace {

// Leaves the processor to whoever is waited for.
void nap() { std::this_thread::sleep_for(std::chrono::microseconds(10)); }

bool wait_for(const Gate* gate, std::uint64_t patience_ns) {
  const auto begun = now_ns();
  const std::atomic_ref<Gate> flag(*const_cast<Gate*>(gate));
  while (flag.load(std::memory_order_acquire) == 0) {
    if (static_cast<std::uint64_t>(now_ns() - begun) > patience_ns) return false;
    nap();
  }
  return true;
}

void idle(std::uint64_t ns) {
  const auto begun = now_ns();
  while (static_cast<std::uint64_t>(now_ns() - begun) < ns) nap();
}

std::uint64_t sum_words(const std::byte* data, std::uint64_t first, std::uint64_t last) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = first; i < last; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + 8 * i, 8);
    sum += term_of(word, i);
  }
  return sum;
}

}  // namespace

StreamWork host_work(memory::Driver& driver) {
  StreamWork work;
  work.read = [&driver](const memory::Stream& stream, const Reading& reading) {
    driver.enqueue(stream, [reading] {
      const std::uint64_t words = reading.bytes / 8;
      reading.result->gave_up = wait_for(reading.gate, reading.patience_ns) ? 0 : 1;
      std::uint64_t sum = sum_words(reading.data, 0, words / 2);
      idle(reading.idle_ns);
      sum += sum_words(reading.data, words / 2, words);
      reading.result->sum = sum;
    });
  };
  work.fill = [&driver](const memory::Stream& stream, std::byte* data, Bytes bytes, std::uint64_t contents) {
    driver.enqueue(stream, [=] {
      for (std::uint64_t i = 0; i < bytes / 8; ++i) {
        const std::uint64_t word = word_of(contents, i);
        std::memcpy(data + 8 * i, &word, 8);
      }
    });
  };
  return work;
}

}  // namespace fheres::test
