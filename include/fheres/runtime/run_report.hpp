#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/control/decision.hpp>
#include <fheres/residency/explain.hpp>
#include <fheres/residency/snapshot.hpp>
#include <fheres/residency/trace.hpp>

namespace fheres::runtime {

/// One operation of a body. Times are the device's: from when its stream reached it to when it was done, on the
/// process's clock.
struct OperationRun {
  std::string result;
  std::string operation;
  memory::Location at = memory::Location::pageable_host();  // the device
  std::vector<std::string> reads;                           // managed values that it reads, by name
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// What the device waited for: an arrival that was still under way when an operation wanted it (R22). What the host
/// waited for stands in the transitions.
struct StallRun {
  std::string value;
  std::string result;  // of the operation that wanted it
  memory::Location at = memory::Location::pageable_host();
  std::int64_t start_ns = 0;  // as of operations
  std::int64_t end_ns = 0;
};

/// A result that became a managed value.
struct OutputRun {
  std::string name;
  residency::HandleId handle;
  memory::Location at = memory::Location::pageable_host();
  Bytes bytes = 0;
};

/// One stage that was started.
struct StageRun {
  std::string name;
  std::optional<control::Decision> decision;  // absent where the plan was written by hand
  residency::Plan plan;
  /// The prediction, from the live state just before. With holders where the session was asked for them, and where the
  /// stage is not complete: those at the refusal, or when it failed.
  residency::Explanation explanation;
  residency::PlanReport report;  // what was committed, with measured peaks
  std::vector<OperationRun> operations;
  std::vector<StallRun> stalls;  // in the order of the operations
  std::vector<OutputRun> outputs;
  std::vector<std::string> released;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t check_ns = 0;  // spent on checks between the two
  bool complete = false;
};

/// One output, compared with its clear-text shadow, or with what the document expects of it.
struct CheckRun {
  std::string value;
  double largest_error = 0;
  double tolerance = 0;
  bool passed = false;
  std::string skipped;          // why it was not compared; empty where it was
  std::string residues_sha256;  // of the ciphertext's bytes, little-endian words in storage order
  bool expected = false;        // against what the document says of it, not the shadow
  bool wrong() const { return skipped.empty() && !passed; }
};

/// The client's half: outside of every budget.
struct ClientRun {
  std::int64_t key_generation_ns = 0;
  std::int64_t encryption_ns = 0;
  std::int64_t decryption_ns = 0;
  Bytes bytes_made = 0;  // of the values that it handed over
};

/// Bytes copied or loaded, and how often, from one location to another.
struct Traffic {
  memory::Location from = memory::Location::pageable_host();
  memory::Location to = memory::Location::pageable_host();
  Bytes bytes = 0;
  std::uint64_t transfers = 0;
};

/// One materialization's life, from the charge of its bytes to their release.
struct Life {
  std::string value;
  memory::Location at = memory::Location::pageable_host();
  Bytes bytes = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// The charges of one location from this moment on.
struct ChargeSample {
  std::int64_t time_ns = 0;
  memory::Location at = memory::Location::pageable_host();
  Bytes used = 0;
  Bytes reserved = 0;  // temporary charges included
  std::optional<Bytes> budget;
};

enum class RunStatus { done, failed, wrong_result, interrupted };
const char* name(RunStatus status);

/// A failure while running: what, in which phase of which stage, at which action. What was committed before it stands in
/// the stages: complete ones, and the transitions of the one that failed.
struct RunFailure {
  std::string code;
  std::string message;
  std::string stage;  // empty: before the first stage
  /// `placement`, `decide`, `reclaim`, `reserve`, `enter`, `body`, `exit`, `check`, `release`, `between stages`.
  std::string phase;
  std::optional<residency::Action>
      action{};  // where one of the plan's failed, and its index within the phase
  std::optional<std::size_t> index{};
};

/// Everything that a run did. Plain data.
struct RunReport {
  std::string device;      // `NVIDIA H200`, `emulated device`
  std::string driver;      // `cuda`, `emulated`
  std::string parameters;  // the preset's name, or the parameters' id
  std::string parameters_id;
  bool insecure = false;        // security: none
  bool without_secret = false;  // every key and input came from a file: nothing was decrypted
  std::optional<std::uint64_t> seed;
  Bytes context_bytes = 0;  // tables on the device, outside of the location's budget
  ClientRun client;
  std::vector<residency::TransitionReport> placement;  // the copies of initial placement
  std::vector<StageRun> stages;
  std::vector<CheckRun> checks;
  std::vector<Traffic> traffic;       // of the stages, in location order
  std::vector<Life> lives;            // by start
  std::vector<ChargeSample> charges;  // by time
  residency::Snapshot final_snapshot;
  std::vector<std::string> warnings;
  RunStatus status = RunStatus::done;
  std::optional<RunFailure> failure;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  Bytes moved_bytes() const;
  double largest_error() const;
  /// From the first stage's start to the last one's end, without checks.
  std::int64_t stages_ns() const;

  /// Reports of asynchronous copies were written when they were queued; the manager's trace knows how they ended.
  void complete(std::span<const residency::TransitionReport> trace);
  /// Fills in `traffic` from what the stages did.
  void sum_traffic();
};

}  // namespace fheres::runtime
