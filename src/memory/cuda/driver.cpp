#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/clock.hpp>
#include <fheres/memory/cuda.hpp>

#include "memory/copy_checks.hpp"
#include "memory/cuda/check.hpp"

namespace fheres::memory {
namespace {

using cuda::DeviceGuard;

// Destructors here run at process exit too, when the runtime may be gone: they look at no result.

struct CudaStream final : StreamState {
  CudaStream(Location where, int its_ordinal) : StreamState(where), ordinal(its_ordinal) {
    const DeviceGuard guard(ordinal);
    FHERES_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~CudaStream() override { (void)cudaStreamDestroy(stream); }
  const int ordinal;  // what the runtime calls its device
  cudaStream_t stream = nullptr;
};

// A moment of a device whose time on the host's clock is known. A device tells only how far two of its moments are apart.
struct Moment {
  // The current device owns it, as below. A try that takes long says little about when it was.
  explicit Moment(cudaStream_t idle) {
    FHERES_CUDA(cudaEventCreateWithFlags(&event, cudaEventDefault));
    std::int64_t took = 0;
    for (int tries = 0; tries == 0 || (tries < 3 && took > 30'000); ++tries) {
      const std::int64_t begun = now_ns();
      FHERES_CUDA(cudaEventRecord(event, idle));
      FHERES_CUDA(cudaEventSynchronize(event));
      took = now_ns() - begun;
      host_ns = begun + took / 2;
    }
  }
  ~Moment() { (void)cudaEventDestroy(event); }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  cudaEvent_t event = nullptr;
  std::int64_t host_ns = 0;
};

struct CudaEvent final : EventState {
  // The current device at creation owns the event: the caller holds a guard.
  explicit CudaEvent(std::shared_ptr<const Moment> since = nullptr) : before(std::move(since)) {
    FHERES_CUDA(cudaEventCreateWithFlags(&event, before ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~CudaEvent() override { (void)cudaEventDestroy(event); }
  cudaEvent_t event = nullptr;
  const std::shared_ptr<const Moment> before;  // of an event that keeps its time
};

// The moments of one device. They age: clocks drift apart, and the vendor tells a distance in a float of ms.
class DeviceClock {
 public:
  // The current device is the clock's.
  std::shared_ptr<const Moment> recent(Location device, int ordinal) {
    const std::lock_guard lock(mutex_);
    if (!idle_) idle_ = std::make_shared<CudaStream>(device, ordinal);
    if (!latest_ || now_ns() - latest_->host_ns > kOldest)
      latest_ = std::make_shared<const Moment>(idle_->stream);
    return latest_;
  }

 private:
  static constexpr std::int64_t kOldest = 1'000'000'000;
  std::mutex mutex_;
  std::shared_ptr<CudaStream> idle_;
  std::shared_ptr<const Moment> latest_;
};

const CudaStream& state_of(const Stream& stream) {
  check_stream(stream);
  const auto* state = dynamic_cast<const CudaStream*>(stream.state());
  if (state == nullptr)
    throw std::invalid_argument("expected a stream of the cuda driver, got another driver's");
  return *state;
}

cudaEvent_t event_of(const Event& event) {
  const auto* state = dynamic_cast<const CudaEvent*>(event.state());
  if (state == nullptr)
    throw std::invalid_argument("expected an event of the cuda driver, got another driver's");
  return state->event;
}

bool between_devices(const Extent& destination, const Extent& source) {
  return destination.at.is_cuda() && source.at.is_cuda() && destination.at != source.at;
}

cudaMemcpyKind kind_of(const Extent& destination, const Extent& source) {
  if (source.at.is_host()) return cudaMemcpyHostToDevice;
  return destination.at.is_host() ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// The pitched form of the runtime is the only one that names both devices.
void copy_rows_between(const Extent& destination, int destination_device, const Extent& source,
                       int source_device, const Copy2D& shape, cudaStream_t stream) {
  cudaMemcpy3DPeerParms parms{};
  parms.srcPtr = cudaPitchedPtr{source.data, shape.source_pitch, shape.row_bytes, shape.rows};
  parms.dstPtr = cudaPitchedPtr{destination.data, shape.destination_pitch, shape.row_bytes, shape.rows};
  parms.srcDevice = source_device;
  parms.dstDevice = destination_device;
  parms.extent = cudaExtent{shape.row_bytes, shape.rows, 1};
  FHERES_CUDA(cudaMemcpy3DPeerAsync(&parms, stream));
}

// Lets `peer` read and write the memory of `owner`. Where the vendor refuses, it stages the copies itself.
void open_to_peer(int owner, int peer, bool pooled) {
  const DeviceGuard guard(peer);
  if (cudaDeviceEnablePeerAccess(owner, 0) != cudaSuccess) (void)cudaGetLastError();
  if (!pooled) return;
  cudaMemPool_t pool = nullptr;
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = peer;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  if (cudaDeviceGetDefaultMemPool(&pool, owner) != cudaSuccess ||
      cudaMemPoolSetAccess(pool, &access, 1) != cudaSuccess) {
    (void)cudaGetLastError();
  }
}

bool reaches(int from, int to) {
  int can = 0;
  FHERES_CUDA(cudaDeviceCanAccessPeer(&can, from, to));
  return can != 0;
}

void run_host_work(void* work) noexcept {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(work));
  (*function)();
}

class CudaDriver final : public Driver {
 public:
  CudaDriver(std::vector<int> devices, bool one_allocation_per_block)
      : devices_(std::move(devices)), apart_(one_allocation_per_block), clocks_(devices_.size()) {
    if (!apart_) return;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      // One order for a device that plays several: its allocator gives a block of one to the other.
      const auto same =
          std::find(devices_.begin(), devices_.begin() + static_cast<std::ptrdiff_t>(i), devices_[i]);
      const auto first = static_cast<std::size_t>(same - devices_.begin());
      owners_.push_back(first < i
                            ? owners_[first]
                            : std::make_shared<CudaStream>(Location::cuda(static_cast<int>(i)), devices_[i]));
    }
  }

  std::string name() const override { return "cuda"; }
  bool present(Location at) const override { return at.is_host() || at.device() < device_count(); }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  int ordinal(Location device) const { return devices_[static_cast<std::size_t>(device.device())]; }
  std::string describe(Location at) const override;
  bool are_peers(Location a, Location b) const override;
  bool one_allocation_per_block(Location at) const override { return apart_ && at.is_cuda(); }
  std::optional<DeviceMemory> observe(Location at) const noexcept override;

  std::byte* allocate(Location at, Bytes bytes) override;
  void deallocate(Location at, std::byte* data, Bytes bytes) noexcept override;

  Stream make_stream(Location device, const std::string& label) override;
  void* native(const Stream& stream) const noexcept override;

  Event record(const Stream& stream) override;
  Event record_timed(const Stream& stream) override;
  std::int64_t time_ns(const Event& event) const override;
  void wait(const Stream& stream, const Event& event) override;
  bool complete(const Event& event) const override;
  void synchronize(const Event& event) override;
  void synchronize(const Stream& stream) override;
  void synchronize_device(Location device) override;

  void copy(const Stream& stream, const Extent& destination, const Extent& source) override;
  void copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
               const Copy2D& shape) override;
  void copy_host(const Extent& destination, const Extent& source) override;
  void enqueue(const Stream& stream, std::function<void()> work) override;

 private:
  struct Attempt {
    cudaError_t status;
    const char* call;
  };
  void expect_device(Location at) const;
  Attempt take(Location at, void** data, Bytes bytes) const;
  void open_way(int from, int to);

  const std::vector<int> devices_;  // the runtime's numbers of cuda:0, cuda:1, ...
  const bool apart_;
  std::vector<DeviceClock> clocks_;
  std::vector<std::shared_ptr<CudaStream>>
      owners_;  // where apart: of each device, in whose order blocks begin and end
  std::mutex ways_mutex_;
  std::set<std::pair<int, int>>
      ways_;  // pairs of devices that copied to each other, the smaller number first
};

void CudaDriver::expect_device(Location at) const {
  if (!at.is_cuda() || !present(at)) {
    throw std::invalid_argument(fmt::format("expected one of {} cuda location{}, got {}", device_count(),
                                            device_count() == 1 ? "" : "s", at.name()));
  }
}

std::string CudaDriver::describe(Location at) const {
  if (at.is_host()) return at == Location::pinned_host() ? "page-locked host memory" : "host memory";
  expect_device(at);
  cudaDeviceProp properties{};
  FHERES_CUDA(cudaGetDeviceProperties(&properties, ordinal(at)));
  return properties.name;
}

std::optional<DeviceMemory> CudaDriver::observe(Location at) const noexcept {
  if (at.is_host() || !present(at)) return std::nullopt;
  try {
    const DeviceGuard guard(ordinal(at));
    std::size_t free = 0, total = 0;
    FHERES_CUDA(cudaMemGetInfo(&free, &total));
    return DeviceMemory{free, total};
  } catch (...) {
    return std::nullopt;
  }
}

bool CudaDriver::are_peers(Location a, Location b) const {
  if (!a.is_cuda() || !b.is_cuda() || a == b || !present(a) || !present(b)) return false;
  const int one = ordinal(a), other = ordinal(b);
  return one == other || (reaches(one, other) && reaches(other, one));
}

// Lets two devices that can reach each other do so, before their first copy.
void CudaDriver::open_way(int from, int to) {
  if (from == to) return;
  const std::lock_guard lock(ways_mutex_);
  if (!ways_.insert(std::minmax(from, to)).second || !reaches(from, to) || !reaches(to, from)) return;
  open_to_peer(from, to, apart_);
  open_to_peer(to, from, apart_);
}

CudaDriver::Attempt CudaDriver::take(Location at, void** data, Bytes bytes) const {
  if (at.is_host()) return {cudaHostAlloc(data, bytes, cudaHostAllocPortable), "cudaHostAlloc"};
  if (!apart_) return {cudaMalloc(data, bytes), "cudaMalloc"};
  cudaStream_t owner = owners_[static_cast<std::size_t>(at.device())]->stream;
  const cudaError_t status = cudaMallocAsync(data, bytes, owner);
  if (status != cudaSuccess) return {status, "cudaMallocAsync"};
  const cudaError_t ready = cudaStreamSynchronize(owner);  // on return any stream may use it
  if (ready != cudaSuccess) (void)cudaFreeAsync(*data, owner);
  return {ready, "cudaStreamSynchronize"};
}

std::byte* CudaDriver::allocate(Location at, Bytes bytes) {
  // Zero bytes still get an address that deallocate takes. A checker must see where a block ends.
  const Bytes least = std::max<Bytes>(bytes, 1);
  const Bytes size = apart_ && at.is_cuda() ? least : round_up_to_granule(least);
  if (at == Location::pageable_host()) {
    void* data = std::aligned_alloc(kGranule, size);
    if (data == nullptr) throw AllocationError(at, bytes, "the operating system has no such room");
    return static_cast<std::byte*>(data);
  }
  if (at.is_cuda()) expect_device(at);
  void* data = nullptr;
  // Pinned memory is portable, so any context will do to make it.
  const DeviceGuard guard(ordinal(at.is_cuda() ? at : Location::cuda(0)));
  const auto [status, call] = take(at, &data, size);
  // What the operating system refuses to lock is no room either.
  if (status == cudaErrorMemoryAllocation || (at.is_host() && status == cudaErrorOperatingSystem)) {
    (void)cudaGetLastError();
    throw AllocationError(at, bytes, fmt::format("{}: {}", call, cudaGetErrorString(status)));
  }
  cuda::check(status, call, __FILE__, __LINE__);
  return static_cast<std::byte*>(data);
}

void CudaDriver::deallocate(Location at, std::byte* data, Bytes) noexcept {
  if (data == nullptr) return;
  if (at == Location::pageable_host()) {
    std::free(data);
  } else if (at == Location::pinned_host()) {
    (void)cudaFreeHost(data);
  } else if (apart_) {
    (void)cudaFreeAsync(data, owners_[static_cast<std::size_t>(at.device())]->stream);
  } else {
    (void)cudaFree(data);
  }
}

Stream CudaDriver::make_stream(Location device, const std::string&) {
  expect_device(device);
  Stream stream(std::make_shared<CudaStream>(device, ordinal(device)));
  // A checker must see that the new stream comes after the blocks that are there.
  if (apart_) wait(stream, record(Stream(owners_[static_cast<std::size_t>(device.device())])));
  return stream;
}

void* CudaDriver::native(const Stream& stream) const noexcept {
  const auto* state = dynamic_cast<const CudaStream*>(stream.state());
  return state == nullptr ? nullptr : state->stream;
}

Event CudaDriver::record(const Stream& stream) {
  const CudaStream& state = state_of(stream);
  const DeviceGuard guard(state.ordinal);
  auto event = std::make_shared<CudaEvent>();
  FHERES_CUDA(cudaEventRecord(event->event, state.stream));
  return Event(std::move(event));
}

Event CudaDriver::record_timed(const Stream& stream) {
  const CudaStream& state = state_of(stream);
  const DeviceGuard guard(state.ordinal);
  auto event = std::make_shared<CudaEvent>(
      clocks_[static_cast<std::size_t>(state.device.device())].recent(state.device, state.ordinal));
  FHERES_CUDA(cudaEventRecord(event->event, state.stream));
  return Event(std::move(event));
}

std::int64_t CudaDriver::time_ns(const Event& event) const {
  const auto* state = dynamic_cast<const CudaEvent*>(event.state());
  if (state == nullptr || !state->before || !complete(event))
    throw std::invalid_argument("expected a complete event that keeps its time");
  float ms = 0;
  FHERES_CUDA(cudaEventElapsedTime(&ms, state->before->event, state->event));
  return state->before->host_ns + std::llround(1e6 * static_cast<double>(ms));
}

void CudaDriver::wait(const Stream& stream, const Event& event) {
  if (!event) return;
  const CudaStream& state = state_of(stream);
  const DeviceGuard guard(state.ordinal);
  FHERES_CUDA(cudaStreamWaitEvent(state.stream, event_of(event), 0));
}

bool CudaDriver::complete(const Event& event) const {
  if (!event) return true;
  const cudaError_t status = cudaEventQuery(event_of(event));
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  cuda::check(status, "cudaEventQuery", __FILE__, __LINE__);
  // Returns at once. A checker of stream order is told by a wait what a question may not tell it.
  if (apart_) FHERES_CUDA(cudaEventSynchronize(event_of(event)));
  return true;
}

void CudaDriver::synchronize(const Event& event) {
  if (event) FHERES_CUDA(cudaEventSynchronize(event_of(event)));
}

void CudaDriver::synchronize(const Stream& stream) {
  const CudaStream& state = state_of(stream);
  const DeviceGuard guard(state.ordinal);
  FHERES_CUDA(cudaStreamSynchronize(state.stream));
}

void CudaDriver::synchronize_device(Location device) {
  expect_device(device);
  const DeviceGuard guard(ordinal(device));
  FHERES_CUDA(cudaDeviceSynchronize());
}

void CudaDriver::copy(const Stream& stream, const Extent& destination, const Extent& source) {
  check_copy(stream, destination, source);
  const CudaStream& state = state_of(stream);
  if (source.bytes == 0) return;
  const DeviceGuard guard(state.ordinal);
  if (between_devices(destination, source)) {
    const int to = ordinal(destination.at), from = ordinal(source.at);
    open_way(from, to);
    FHERES_CUDA(cudaMemcpyPeerAsync(destination.data, to, source.data, from, source.bytes, state.stream));
  } else {
    FHERES_CUDA(cudaMemcpyAsync(destination.data, source.data, source.bytes, kind_of(destination, source),
                                state.stream));
  }
}

void CudaDriver::copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
                         const Copy2D& shape) {
  check_copy_2d(stream, destination, source, shape);
  const CudaStream& state = state_of(stream);
  if (shape.rows == 0 || shape.row_bytes == 0) return;
  const DeviceGuard guard(state.ordinal);
  if (between_devices(destination, source)) {
    const int to = ordinal(destination.at), from = ordinal(source.at);
    open_way(from, to);
    copy_rows_between(destination, to, source, from, shape, state.stream);
  } else {
    FHERES_CUDA(cudaMemcpy2DAsync(destination.data, shape.destination_pitch, source.data, shape.source_pitch,
                                  shape.row_bytes, shape.rows, kind_of(destination, source), state.stream));
  }
}

void CudaDriver::copy_host(const Extent& destination, const Extent& source) {
  check_copy_host(destination, source);
  if (source.bytes != 0) std::memcpy(destination.data, source.data, source.bytes);
}

void CudaDriver::enqueue(const Stream& stream, std::function<void()> work) {
  const CudaStream& state = state_of(stream);
  const DeviceGuard guard(state.ordinal);
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  FHERES_CUDA(cudaLaunchHostFunc(state.stream, run_host_work, owned.get()));
  (void)owned.release();  // run_host_work owns it now
}

}  // namespace

std::shared_ptr<Driver> make_cuda_driver(const CudaOptions& options) {
  std::vector<int> devices = options.devices;
  const int usable = cuda_device_count();
  if (usable == 0) throw DeviceError("make_cuda_driver", cuda_status());
  for (int device : devices) {
    if (device < 0 || device >= usable) {
      throw DeviceError("make_cuda_driver", fmt::format("no device {}: {}", device, cuda_status()));
    }
  }
  if (devices.empty()) {
    devices.resize(static_cast<std::size_t>(usable));
    std::iota(devices.begin(), devices.end(), 0);
  }
  return std::make_shared<CudaDriver>(std::move(devices), options.one_allocation_per_block);
}

int cuda::ordinal(const Driver& driver, Location device) {
  const auto* ours = dynamic_cast<const CudaDriver*>(&driver);
  if (ours == nullptr) throw std::invalid_argument("expected the cuda driver, got " + driver.name());
  return ours->ordinal(device);
}

}  // namespace fheres::memory
