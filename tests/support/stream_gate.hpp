#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <fheres/memory/driver.hpp>

namespace fheres::test {

/// Holds a stream of a threaded driver: what is queued after the gate runs only once it is opened. Opens by itself
/// at the end of its life, so that a failing test does not hang.
class StreamGate {
 public:
  StreamGate(memory::Driver& driver, const memory::Stream& stream) : state_(std::make_shared<State>()) {
    driver.enqueue(stream, [state = state_] {
      std::unique_lock lock(state->mutex);
      state->reached = true;
      state->changed.notify_all();
      state->changed.wait(lock, [&] { return state->open; });
    });
  }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  ~StreamGate() { open(); }

  void open() {
    const std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }
  /// Waits until the stream has come to the gate: everything before it is done then.
  void wait_until_reached() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->reached; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    bool reached = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace fheres::test
