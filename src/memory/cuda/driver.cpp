#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

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

struct CudaEvent final : EventState {
  // The current device at creation owns the event: the caller holds a guard.
  CudaEvent() { FHERES_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
  ~CudaEvent() override { (void)cudaEventDestroy(event); }
  cudaEvent_t event = nullptr;
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

void run_host_work(void* work) noexcept {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(work));
  (*function)();
}

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(std::vector<int> devices) : devices_(std::move(devices)) {}

  std::string name() const override { return "cuda"; }
  bool present(Location at) const override { return at.is_host() || at.device() < device_count(); }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  int ordinal(Location device) const { return devices_[static_cast<std::size_t>(device.device())]; }
  std::string describe(Location at) const override;
  std::optional<DeviceMemory> observe(Location at) const noexcept override;

  std::byte* allocate(Location at, Bytes bytes) override;
  void deallocate(Location at, std::byte* data, Bytes bytes) noexcept override;

  Stream make_stream(Location device, const std::string& label) override;
  void* native(const Stream& stream) const noexcept override;

  Event record(const Stream& stream) override;
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
  void expect_device(Location at) const;
  const std::vector<int> devices_;  // the runtime's numbers of cuda:0, cuda:1, ...
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

std::byte* CudaDriver::allocate(Location at, Bytes bytes) {
  // Zero bytes still get an address that deallocate takes.
  const Bytes size = round_up_to_granule(std::max<Bytes>(bytes, 1));
  if (at == Location::pageable_host()) {
    void* data = std::aligned_alloc(kGranule, size);
    if (data == nullptr) throw AllocationError(at, bytes, "the operating system has no such room");
    return static_cast<std::byte*>(data);
  }
  if (at.is_cuda()) expect_device(at);
  void* data = nullptr;
  // Pinned memory is portable, so any context will do to make it.
  const DeviceGuard guard(ordinal(at.is_cuda() ? at : Location::cuda(0)));
  const cudaError_t status =
      at.is_cuda() ? cudaMalloc(&data, size) : cudaHostAlloc(&data, size, cudaHostAllocPortable);
  const char* call = at.is_cuda() ? "cudaMalloc" : "cudaHostAlloc";
  if (status == cudaErrorMemoryAllocation) {
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
  } else {
    (void)cudaFree(data);
  }
}

Stream CudaDriver::make_stream(Location device, const std::string&) {
  expect_device(device);
  return Stream(std::make_shared<CudaStream>(device, ordinal(device)));
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
    FHERES_CUDA(cudaMemcpyPeerAsync(destination.data, destination.at.device(), source.data,
                                    source.at.device(), source.bytes, state.stream));
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
    copy_rows_between(destination, ordinal(destination.at), source, ordinal(source.at), shape, state.stream);
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

std::shared_ptr<Driver> make_cuda_driver(std::vector<int> devices) {
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
  return std::make_shared<CudaDriver>(std::move(devices));
}

int cuda::ordinal(const Driver& driver, Location device) {
  const auto* ours = dynamic_cast<const CudaDriver*>(&driver);
  if (ours == nullptr) throw std::invalid_argument("expected the cuda driver, got " + driver.name());
  return ours->ordinal(device);
}

}  // namespace fheres::memory
