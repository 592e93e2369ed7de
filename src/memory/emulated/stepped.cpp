#include <atomic>
#include <deque>
#include <random>
#include <vector>

#include <fheres/memory/emulated.hpp>

#include "memory/emulated/host_backed.hpp"

namespace fheres::memory {
namespace {

struct SteppedQueue;

struct SteppedEvent final : HostEvent {
  bool done = false;
  std::weak_ptr<SteppedQueue> queue;  // where it is still to come
};

struct Operation {
  std::function<void()> work;             // a copy or a function, or
  std::shared_ptr<SteppedEvent> records;  // an event to complete, or
  std::shared_ptr<SteppedEvent> awaits;   // an event to wait for
  bool is_copy = false;
};

// Kept by the driver until it is empty, so that work of a stream without handles still runs.
struct SteppedQueue {
  explicit SteppedQueue(Location where) : device(where) {}
  Location device;
  std::deque<Operation> operations;
  std::uint64_t submitted = 0;
  std::uint64_t executed = 0;
  bool held = false;
  std::atomic<bool> orphaned = false;

  bool can_go_on() const {
    return !held && !operations.empty() && (!operations.front().awaits || operations.front().awaits->done);
  }
};

struct SteppedStream final : StreamState {
  explicit SteppedStream(std::shared_ptr<SteppedQueue> its_queue)
      : StreamState(its_queue->device), queue(std::move(its_queue)) {}
  ~SteppedStream() override { queue->orphaned = true; }
  std::shared_ptr<SteppedQueue> queue;
};

std::shared_ptr<SteppedEvent> state_of(const Event& event) {
  auto* state = static_cast<SteppedEvent*>(event.state());
  return {std::shared_ptr<void>(std::make_shared<Event>(event)), state};
}
SteppedQueue& queue_of(const Stream& stream) {
  check_stream(stream);
  return *static_cast<SteppedStream*>(stream.state())->queue;
}

class SteppedDriverImpl final : public HostBacked<SteppedDriver> {
 public:
  explicit SteppedDriverImpl(const SteppedOptions& options)
      : HostBacked(options.devices, options.device_bytes, options.one_allocation_per_block),
        only_needed_(options.synchronize_only_what_is_needed),
        random_(options.seed) {}

  std::string name() const override { return "stepped"; }

  Stream make_stream(Location device, const std::string&) override {
    check_device(device);
    check_present(device);
    const std::lock_guard lock(mutex_);
    auto queue = std::make_shared<SteppedQueue>(device);
    queues_.push_back(queue);
    return Stream(std::make_shared<SteppedStream>(std::move(queue)));
  }

  Event record(const Stream& stream) override {
    const std::lock_guard lock(mutex_);
    check_stream(stream);
    auto event = std::make_shared<SteppedEvent>();
    event->queue = static_cast<SteppedStream*>(stream.state())->queue;
    submit(stream, {{}, event, {}, false});
    return Event(std::move(event));
  }
  void wait(const Stream& stream, const Event& event) override {
    const std::lock_guard lock(mutex_);
    check_stream(stream);
    if (event) submit(stream, {{}, {}, state_of(event), false});
  }
  bool complete(const Event& event) const override {
    const std::lock_guard lock(mutex_);
    return !event || static_cast<SteppedEvent*>(event.state())->done;
  }

  void synchronize(const Event& event) override {
    const std::lock_guard lock(mutex_);
    if (event) finish(*state_of(event));
  }
  void synchronize(const Stream& stream) override {
    const std::lock_guard lock(mutex_);
    drain(queue_of(stream));
  }
  void synchronize_device(Location device) override {
    const std::lock_guard lock(mutex_);
    check_device(device);
    check_present(device);
    for (const auto& queue : std::vector(queues_)) {
      if (queue->device == device) drain(*queue);
    }
  }

  void copy(const Stream& stream, const Extent& destination, const Extent& source) override {
    const std::lock_guard lock(mutex_);
    check_copy(stream, destination, source);
    submit(stream, {[destination, source] { copy_bytes(destination, source); }, {}, {}, true});
  }
  void copy_2d(const Stream& stream, const Extent& destination, const Extent& source,
               const Copy2D& shape) override {
    const std::lock_guard lock(mutex_);
    check_copy_2d(stream, destination, source, shape);
    submit(stream, {[destination, source, shape] { copy_rows(destination, source, shape); }, {}, {}, true});
  }
  void enqueue(const Stream& stream, std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    submit(stream, {std::move(work), {}, {}, false});
  }

  bool step() override {
    const std::lock_guard lock(mutex_);
    return run_one_of_any();
  }
  bool step(const Stream& stream) override {
    const std::lock_guard lock(mutex_);
    return run_one(queue_of(stream));
  }
  std::size_t run_until_idle() override {
    const std::lock_guard lock(mutex_);
    std::size_t ran = 0;
    while (run_one_of_any()) ++ran;
    return ran;
  }
  void hold(const Stream& stream) override {
    const std::lock_guard lock(mutex_);
    queue_of(stream).held = true;
  }
  void let_go(const Stream& stream) override {
    const std::lock_guard lock(mutex_);
    queue_of(stream).held = false;
  }
  std::uint64_t executed(const Stream& stream) const override {
    const std::lock_guard lock(mutex_);
    return queue_of(stream).executed;
  }
  std::uint64_t submitted(const Stream& stream) const override {
    const std::lock_guard lock(mutex_);
    return queue_of(stream).submitted;
  }
  std::size_t queued_copies() const override {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& queue : queues_) {
      for (const Operation& operation : queue->operations) count += operation.is_copy ? 1 : 0;
    }
    return count;
  }

 private:
  static void submit(const Stream& stream, Operation operation) {
    SteppedQueue& queue = queue_of(stream);
    queue.operations.push_back(std::move(operation));
    ++queue.submitted;
  }

  static bool run_one(SteppedQueue& queue) {
    if (!queue.can_go_on()) return false;
    Operation operation = std::move(queue.operations.front());
    queue.operations.pop_front();
    if (operation.work) operation.work();
    if (operation.records) {
      operation.records->completed_ns = now_ns();
      operation.records->done = true;
    }
    ++queue.executed;
    return true;
  }

  bool run_one_of_any() {
    std::erase_if(queues_, [](const auto& queue) { return queue->orphaned && queue->operations.empty(); });
    std::vector<std::shared_ptr<SteppedQueue>> ready;
    for (const auto& queue : queues_) {
      if (queue->can_go_on()) ready.push_back(queue);
    }
    if (ready.empty()) return false;
    return run_one(*ready[random_() % ready.size()]);
  }

  [[noreturn]] static void give_up() {
    throw std::logic_error(
        "the stepped driver cannot finish: a held stream or an event that never comes is in the way");
  }

  void finish(const SteppedEvent& event) {
    while (!event.done) {
      if (!only_needed_) {
        if (!run_one_of_any()) give_up();
        continue;
      }
      const std::shared_ptr<SteppedQueue> queue = event.queue.lock();
      if (!queue) give_up();
      run_next_of(*queue);
    }
  }

  void drain(SteppedQueue& queue) {
    while (!queue.operations.empty()) {
      if (only_needed_) {
        run_next_of(queue);
      } else if (!run_one_of_any()) {
        give_up();
      }
    }
  }

  // One operation of the queue, after what it waits for. Waits name events that were recorded before them, so
  // the recursion ends.
  void run_next_of(SteppedQueue& queue) {
    if (queue.held || queue.operations.empty()) give_up();
    if (const auto awaited = queue.operations.front().awaits; awaited && !awaited->done) finish(*awaited);
    run_one(queue);
  }

  mutable std::recursive_mutex mutex_;  // work that drops the last handle of a stream comes back here
  bool only_needed_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<SteppedQueue>> queues_;
};

}  // namespace

std::shared_ptr<SteppedDriver> make_stepped_driver(const SteppedOptions& options) {
  return std::make_shared<SteppedDriverImpl>(options);
}

}  // namespace fheres::memory
