#pragma once

#include <functional>
#include <vector>

#include <fheres/memory/driver.hpp>

namespace fheres::bench {

/// Microseconds on the device, of one operation.
struct Times {
  double median = 0;
  double minimum = 0;
};

/// How an operation is driven. `one`: called on an idle stream and waited for, so its launches are inside.
/// `queued`: many calls, one after the other, waited for once. `graph`: the same calls captured once and replayed.
struct Measured {
  Times one;
  Times queued;
  Times graph;
};

/// Times `run(set)`, which queues one operation on `stream` with the operands of set 0 .. sets - 1. Successive runs
/// take successive sets, so that operands come from memory and not from a cache. Warms up first.
Measured measure(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                 const std::function<void(int set)>& run);

/// A large copy on the device, in bytes per second, read plus written.
double copy_bandwidth(memory::Driver& driver, const memory::Stream& stream, int repetitions);

}  // namespace fheres::bench
