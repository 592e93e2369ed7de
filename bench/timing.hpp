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

/// How an operation is driven. `one`: called on an idle stream and waited for. `queued`: many calls, one after the
/// other, waited for once. `launches`: likewise, without the graphs that a back end makes of an operation.
struct Measured {
  Times one;
  Times queued;
  Times launches;
};

/// Queues one operation on the stream with the operands of set 0 .. sets - 1.
using Work = std::function<void(int set)>;

/// Times `run`; `run_launches` is the same operation without graphs. Successive runs take successive sets, so that
/// operands come from memory and not from a cache. Warms up first.
Measured measure(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                 const Work& run, const Work& run_launches);
/// Only single calls.
Times measure_single(memory::Driver& driver, const memory::Stream& stream, int sets, int repetitions,
                     const Work& run);

/// A large copy on the device, in bytes per second, read plus written.
double copy_bandwidth(memory::Driver& driver, const memory::Stream& stream, int repetitions);

}  // namespace fheres::bench
