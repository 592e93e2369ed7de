#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fheres/control/search.hpp>
#include <fheres/runtime/machine.hpp>
#include <fheres/runtime/run_report.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::runtime {

/// How far a run is, for people who wait.
struct Progress {
  std::string what;                       // `keys and inputs`, or a stage's name
  std::size_t done = 0;                   // operations that are over
  std::size_t total = 0;                  // of all bodies; 0 as long as keys and inputs are made
  Bytes moved_bytes = 0;                  // by stages so far
  std::optional<double> largest_error;    // of the outputs checked so far
  std::optional<std::int64_t> left_ns{};  // guessed from what the operations so far took
};

struct SessionOptions {
  std::optional<std::uint64_t> seed;  // over the workload's own
  control::DecideOptions decide;
  /// Whether operations are timed on their streams; costs two host callbacks an operation. Waits for arrivals are always
  /// timed.
  bool time_operations = true;
  /// Nothing beside the plan happens while stages run: outputs are checked when all stages are over, or right before they
  /// are released, and devices are not asked for their free memory. For runs whose time counts; else outputs are checked
  /// as their stage ends, where copies that are under way go on meanwhile and look shorter than they are.
  bool undisturbed = false;
  /// Stages whose explanation tells who holds the room at the predicted peak, by name; others tell it where they fail.
  std::set<std::string> holders_in{};
  int threads = 0;  // that make keys and inputs; 0: as many as there are processors
  /// Set from outside to stop at the next operation boundary.
  const std::atomic<bool>* interrupted = nullptr;
  /// Given each kept output as its stage ends, before it is checked: its bytes, as in scheme::bytes_of. What it throws
  /// fails the run.
  std::function<void(const workload::Value&, std::span<const std::byte>)> output;
  /// Told often: when a stage begins, and as its operations end. On the calling thread.
  std::function<void(const Progress&)> progress;
};

/// Executes a workload for real: a client makes keys and inputs outside of every budget, a server works strictly inside
/// of them, each kept output is decrypted by the client and compared with its clear-text shadow.
/// Where every key and ciphertext comes from a file there is no secret, and nothing is compared: the report says so.
///
/// Never throws for what happens while running: failures, wrong results and interruption are in the report, which is
/// always complete up to where it got. Budgets that the machine cannot hold, and the like, are failures of phase
/// `placement`. Explain the workload first: an infeasible one fails at its stage. std::invalid_argument for a workload
/// without parameters.
RunReport run(const workload::Workload& workload, const Machine& machine, const SessionOptions& options = {});

}  // namespace fheres::runtime
