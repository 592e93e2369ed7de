#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/stream_work.hpp"

namespace fheres::test {

struct RoundsOptions {
  std::uint64_t seed = 1;
  int rounds = 1000;
  Bytes unit = 4 * kKiB;                      // values have one to five of them
  std::uint64_t patience_ns = 2'000'000'000;  // that a reader waits for its gate at most
  std::uint64_t longest_idle_ns = 100'000;
  /// Readers of half of the rounds wait until the host has tried everything. Not where launches wait for their kernels.
  bool gates = true;
  /// The fault that the rounds must find: a reader's lease is over before the reader is queued.
  bool unprotected = false;
};

struct RoundsReport {
  // None of these may happen.
  std::uint64_t wrong_sums = 0;    // a reader saw something else than its value
  std::uint64_t freed_early = 0;   // a block was given up before its reader was done
  std::uint64_t gates_missed = 0;  // a reader gave up waiting for the host: the host waited for it
  std::vector<std::string> first;  // the first few of them
  // These tell that the rounds tried what they are for.
  std::uint64_t readers = 0;
  std::uint64_t attempts = 0;  // to remove what a reader read that could not be done yet
  std::uint64_t refused = 0;   // of those
  std::uint64_t prefetches = 0;
  std::uint64_t device_waits = 0;  // of consumers for arrivals
  Bytes compacted = 0;
  Bytes overwritten = 0;  // by a new owner, while readers ran
};

/// Random rounds on one device with a tight budget. Each acquires values for two consumer streams, queues slow readers
/// that make a checksum, releases the leases without waiting, and at once tries to take the room away and to give it
/// to somebody who overwrites it: drops, moves, discards, prefetches, and allocations that need a compaction.
RoundsReport run_rounds(const std::shared_ptr<memory::Driver>& driver, const StreamWork& work,
                        const RoundsOptions& options);

}  // namespace fheres::test
