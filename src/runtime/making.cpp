#include "making.hpp"

#include <algorithm>
#include <utility>

#include <fheres/base/check.hpp>

namespace fheres::runtime {

Making::Making(Client& client, std::span<const workload::Value* const> values, int threads)
    : client_(client), values_(values.begin(), values.end()) {
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max(1u, std::thread::hardware_concurrency());
  ahead_ = std::min(wanted, values_.size());
  for (std::size_t i = 0; i < ahead_; ++i) threads_.emplace_back([this] { work(); });
}

Making::~Making() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  taken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Making::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    taken_.wait(lock, [this] { return ending_ || next_ == values_.size() || next_ < wanted_ + ahead_; });
    if (ending_ || next_ == values_.size()) return;
    const std::size_t mine = next_++;
    lock.unlock();
    Made made;
    try {
      made.bytes = client_.make(*values_[mine]);
    } catch (...) {
      made.failure = std::current_exception();
    }
    lock.lock();
    waiting_.emplace(mine, std::move(made));
    made_.notify_all();
  }
}

std::vector<std::byte> Making::take() {
  std::unique_lock lock(mutex_);
  FHERES_CHECK(wanted_ < values_.size());
  made_.wait(lock, [this] { return waiting_.contains(wanted_); });
  Made made = std::move(waiting_.extract(wanted_).mapped());
  ++wanted_;
  lock.unlock();
  taken_.notify_all();
  if (made.failure) std::rethrow_exception(made.failure);
  return std::move(made.bytes);
}

}  // namespace fheres::runtime
