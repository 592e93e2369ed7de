#include "timing.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace fheres::bench {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  ~Stopwatch() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <class Body>
  double microseconds(Body work) {
    check(cudaEventRecord(start_, stream_), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

Times times(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front()};
}

// Calls a sample is made of: enough that the queue, and not the first launch, is what is timed, and that every set has its
// turn, but no more than some milliseconds of the device.
int calls_per_sample(int sets, double one) {
  constexpr double kMicroseconds = 5000;
  constexpr int kMost = 64;
  const int wanted = std::clamp(static_cast<int>(kMicroseconds / std::max(one, 1.0)), 1, kMost);
  return (wanted + sets - 1) / sets * sets;
}

Times queued(Stopwatch& watch, int sets, int repetitions, double one, const Work& run) {
  const int calls = calls_per_sample(sets, one);
  std::vector<double> samples;
  for (int i = 0; i < repetitions; ++i) {
    const double total = watch.microseconds([&] {
      for (int j = 0; j < calls; ++j) run(j % sets);
    });
    samples.push_back(total / calls);
  }
  return times(samples);
}

Times single(Stopwatch& watch, int sets, int repetitions, const Work& run) {
  std::vector<double> samples;
  for (int i = 0; i < repetitions; ++i) samples.push_back(watch.microseconds([&] { run(i % sets); }));
  return times(samples);
}

}  // namespace

Times measure_single(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                     const Work& run) {
  Stopwatch watch(static_cast<cudaStream_t>(driver.native(stream)));
  for (int set = 0; set < sets; ++set) run(set);
  driver.synchronize(stream);
  return single(watch, sets, repetitions, run);
}

Measured measure(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                 const Work& run, const Work& run_launches) {
  Stopwatch watch(static_cast<cudaStream_t>(driver.native(stream)));
  constexpr int kRounds = 2;  // the second call of a kind is the one that is captured
  for (int round = 0; round < kRounds; ++round) {
    for (int set = 0; set < sets; ++set) run(set);
    run_launches(0);
  }
  driver.synchronize(stream);

  Measured result;
  result.one = single(watch, sets, repetitions, run);
  result.queued = queued(watch, sets, repetitions, result.one.median, run);
  result.launches = queued(watch, sets, repetitions, result.one.median, run_launches);
  return result;
}

double copy_bandwidth(memory::Driver& driver, const memory::Stream& stream, int repetitions) {
  constexpr Bytes kBytes = 2 * kGiB;
  const memory::Location device = stream.device();
  const memory::Extent from{device, driver.allocate(device, kBytes), kBytes};
  const memory::Extent to{device, driver.allocate(device, kBytes), kBytes};
  Stopwatch watch(static_cast<cudaStream_t>(driver.native(stream)));
  driver.copy(stream, to, from);
  std::vector<double> samples;
  for (int i = 0; i < repetitions; ++i) {
    samples.push_back(watch.microseconds([&] { driver.copy(stream, to, from); }));
  }
  driver.deallocate(device, from.data, kBytes);
  driver.deallocate(device, to.data, kBytes);
  return 2.0 * static_cast<double>(kBytes) / (1e-6 * times(samples).median);
}

}  // namespace fheres::bench
