#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

#include <fheres/memory/emulated.hpp>

#include "memory/emulated/host_backed.hpp"

namespace fheres::memory {
namespace {

struct ThreadedEvent final : HostEvent {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;

  void finish() {
    const std::lock_guard lock(mutex);
    completed_ns = now_ns();
    done = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done; });
  }
  bool is_done() {
    const std::lock_guard lock(mutex);
    return done;
  }
};

// Whether this thread runs the work of some stream.
thread_local bool runs_a_stream = false;

// The queue outlives its stream until the thread has run everything: the thread shares it.
struct WorkQueue {
  explicit WorkQueue(Location where) : device(where) {}
  const Location device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool closing = false;
  bool ended = false;  // everything has run, and nobody will run more

  // False where the thread has ended: all that was queued before is done.
  bool push(std::function<void()> item) {
    const std::lock_guard lock(mutex);
    if (ended) return false;
    work.push_back(std::move(item));
    changed.notify_one();
    return true;
  }
  void run() {
    runs_a_stream = true;
    for (;;) {
      std::function<void()> item;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return closing || !work.empty(); });
        ended = work.empty();
        if (ended) return;
        item = std::move(work.front());
        work.pop_front();
      }
      item();
    }
  }
};

struct ThreadedStream final : StreamState {
  explicit ThreadedStream(Location where)
      : StreamState(where), queue(std::make_shared<WorkQueue>(where)), thread([q = queue] { q->run(); }) {}
  ~ThreadedStream() override {
    {
      const std::lock_guard lock(queue->mutex);
      queue->closing = true;
      queue->changed.notify_one();
    }
    // Work may own the last handle of its own stream, or of one that waits for what its own stream has yet to do.
    // It must not wait for either: the thread ends by itself.
    if (runs_a_stream) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  std::shared_ptr<WorkQueue> queue;
  std::thread thread;
};

std::shared_ptr<ThreadedEvent> record_in(WorkQueue& queue) {
  auto event = std::make_shared<ThreadedEvent>();
  if (!queue.push([event] { event->finish(); })) event->finish();
  return event;
}

ThreadedEvent* state_of(const Event& event) { return static_cast<ThreadedEvent*>(event.state()); }
WorkQueue& queue_of(const Stream& stream) {
  check_stream(stream);
  return *static_cast<ThreadedStream*>(stream.state())->queue;
}

class EmulatedDriver final : public HostBacked<Driver> {
 public:
  using HostBacked::HostBacked;

  std::string name() const override { return "emulated"; }

  Stream make_stream(Location device, const std::string&) override {
    check_device(device);
    check_present(device);
    auto state = std::make_shared<ThreadedStream>(device);
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [](const auto& queue) { return queue.expired(); });
    queues_.push_back(state->queue);
    return Stream(std::move(state));
  }

  Event record(const Stream& stream) override { return Event(record_in(queue_of(stream))); }

  void wait(const Stream& stream, const Event& event) override {
    WorkQueue& queue = queue_of(stream);
    if (event) queue.push([event] { state_of(event)->wait(); });
  }
  bool complete(const Event& event) const override { return !event || state_of(event)->is_done(); }
  void synchronize(const Event& event) override {
    if (event) state_of(event)->wait();
  }
  void synchronize(const Stream& stream) override { record_in(queue_of(stream))->wait(); }

  void synchronize_device(Location device) override {
    check_device(device);
    check_present(device);
    // Queues, not streams: one whose last handle is gone may still have work.
    std::vector<std::shared_ptr<WorkQueue>> live;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& queue : queues_) {
        auto state = queue.lock();
        if (state && state->device == device) live.push_back(std::move(state));
      }
    }
    for (const auto& queue : live) record_in(*queue)->wait();
  }

  void copy(const Stream& stream, const Extent& destination, const Extent& source) override {
    check_copy(stream, destination, source);
    queue_of(stream).push([destination, source] { copy_bytes(destination, source); });
  }
  void copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
               const Copy2D& shape) override {
    check_copy_2d(stream, destination, source, shape);
    queue_of(stream).push([destination, source, shape] { copy_rows(destination, source, shape); });
  }
  void enqueue(const Stream& stream, std::function<void()> work) override {
    queue_of(stream).push(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<WorkQueue>> queues_;
};

}  // namespace

std::shared_ptr<Driver> make_emulated_driver(const EmulatedOptions& options) {
  return std::make_shared<EmulatedDriver>(options.devices, options.device_bytes,
                                          options.one_allocation_per_block);
}

}  // namespace fheres::memory
