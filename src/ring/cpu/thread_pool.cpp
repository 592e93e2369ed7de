#include "ring/cpu/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fheres/ring/backend.hpp>

namespace fheres::ring {
namespace {

std::atomic<int> wanted_threads{0};

// One call of parallel_for. Shared, since a late helper may look at it after its caller has left.
struct Job {
  Job(std::size_t items, const std::function<void(std::size_t)>* call) : count(items), body(call) {}
  const std::size_t count;
  const std::function<void(std::size_t)>* body;  // valid while done < count
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;  // under mutex
  std::mutex mutex;
  std::condition_variable finished;

  void work() {
    std::size_t mine = 0;
    for (std::size_t i = next++; i < count; i = next++) {
      (*body)(i);
      ++mine;
    }
    if (mine == 0) return;
    const std::lock_guard lock(mutex);
    done += mine;
    if (done == count) finished.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    finished.wait(lock, [&] { return done == count; });
  }
};

class Pool {
 public:
  explicit Pool(int helpers) {
    for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::size_t count, const std::function<void(std::size_t)>& body) {
    const auto job = std::make_shared<Job>(count, &body);
    const std::size_t helpers = std::min(threads_.size(), count - 1);
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < helpers; ++i) queue_.push_back(job);
    }
    if (helpers == 1) wake_.notify_one();
    if (helpers > 1) wake_.notify_all();
    job->work();
    job->wait();
  }

 private:
  void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::shared_ptr<Job> job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      job->work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

Pool& pool() {
  static Pool shared([] {
    const int wanted = wanted_threads.load();
    return (wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) - 1;
  }());
  return shared;
}

}  // namespace

void use_threads(int threads) { wanted_threads = threads; }

namespace cpu {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  if (count == 1) return body(0);
  pool().run(count, body);
}

}  // namespace cpu
}  // namespace fheres::ring
