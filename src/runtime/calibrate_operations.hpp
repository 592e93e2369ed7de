#pragma once

#include <string>
#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/memory/driver.hpp>
#include <fheres/workload/machine.hpp>

#include "stopwatch.hpp"

namespace fheres::runtime {

/// Operations of one parameter set on random residues. Holds the storage of one operation's operands on the stream's
/// device.
class TimedOperations {
 public:
  TimedOperations(const ckks::Context& context, memory::Driver& driver, memory::Stream stream,
                  const Stopwatch& watch);
  ~TimedOperations();
  TimedOperations(const TimedOperations&) = delete;
  TimedOperations& operator=(const TimedOperations&) = delete;

  /// Every operation that a level allows, into the machine's operations.
  void measure(int level, workload::Machine& machine);
  /// Bytes of full keys a second that come out of seeded ones.
  double expansion();

 private:
  /// One operation's operands; nothing where the level does not allow it.
  void measure(scheme::Operation operation, bool with_key, int level, workload::Machine& machine);
  void measure_turns(int level, workload::Machine& machine);
  void note(const std::string& name, int level, double ns, workload::Machine& machine) const;
  std::span<std::byte> piece(std::size_t index, Bytes bytes) const;

  const scheme::Parameters parameters_;
  ckks::Evaluator evaluator_;
  memory::Driver& driver_;
  memory::Stream stream_;
  const Stopwatch& watch_;
  struct Piece {
    std::byte* data;
    Bytes bytes;
  };
  std::vector<Piece> pieces_;  // two operands, a plaintext, a key, a result, workspace
};

}  // namespace fheres::runtime
