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

  template <class Work>
  double microseconds(Work work) {
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

// One operation of each set, captured.
class Graph {
 public:
  Graph(cudaStream_t stream, int sets, const std::function<void(int)>& run) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int set = 0; set < sets; ++set) run(set);
    check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  ~Graph() {
    (void)cudaGraphExecDestroy(executable_);
    (void)cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() { check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

Measured measure(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                 const std::function<void(int set)>& run) {
  const auto native = static_cast<cudaStream_t>(driver.native(stream));
  Stopwatch watch(native);
  for (int set = 0; set < sets; ++set) run(set);
  driver.synchronize(stream);

  Measured result;
  std::vector<double> samples;
  for (int i = 0; i < repetitions; ++i) samples.push_back(watch.microseconds([&] { run(i % sets); }));
  result.one = times(samples);

  // Enough calls that the queue, and not the first launch, is what is timed.
  const int rounds = std::max(1, 64 / sets);
  const auto per_operation = [&](double total) { return total / (rounds * sets); };
  samples.clear();
  for (int i = 0; i < repetitions; ++i) {
    samples.push_back(per_operation(watch.microseconds([&] {
      for (int j = 0; j < rounds * sets; ++j) run(j % sets);
    })));
  }
  result.queued = times(samples);

  Graph graph(native, sets, run);
  graph.launch();
  samples.clear();
  for (int i = 0; i < repetitions; ++i) {
    samples.push_back(per_operation(watch.microseconds([&] {
      for (int j = 0; j < rounds; ++j) graph.launch();
    })));
  }
  result.graph = times(samples);
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
