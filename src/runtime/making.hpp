#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <fheres/runtime/client.hpp>

namespace fheres::runtime {

/// What a client makes of a list of values, on several threads, a few ahead of who takes them: the keys of a large
/// workload are gigabytes, and making one uses a processor for a fifth of a second. Bytes do not depend on the threads.
class Making {
 public:
  /// The client and the values outlive it. At most `threads` values are made or wait at a time; 0: as many as there are
  /// processors.
  Making(Client& client, std::span<const workload::Value* const> values, int threads);
  /// Waits for what is being made, and makes nothing more.
  ~Making();
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

  /// The bytes of the next value of the list. Throws what making them threw.
  std::vector<std::byte> take();

 private:
  struct Made {
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
  };
  void work();

  Client& client_;
  std::vector<const workload::Value*> values_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable made_, taken_;
  std::map<std::size_t, Made> waiting_;
  std::size_t next_ = 0;    // to be made
  std::size_t wanted_ = 0;  // to be taken
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fheres::runtime
