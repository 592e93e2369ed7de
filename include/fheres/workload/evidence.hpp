#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/workload/question.hpp>
#include <fheres/workload/value.hpp>

namespace fheres::workload {

/// The most that a location is charged under a compiled plan, and the stage in which; empty: initial placement.
struct PeakEvidence {
  Location at = Location::pageable_host();
  Bytes bytes = 0;
  std::string stage;
};

/// What a Machine says of a compiled plan's time, in nanoseconds.
struct TimeEvidence {
  std::string machine;
  std::uint64_t predicted_ns = 0;
  std::uint64_t lower_bound_ns = 0;
  friend bool operator==(const TimeEvidence&, const TimeEvidence&) = default;
};

/// Which variant a value or a stage has, where the workload left it open, and what the others come to.
struct VariantEvidence {
  Question::About about = Question::About::value;
  std::string name;
  std::string chosen;
  struct Instead {
    std::string variant;
    Bytes lower_bound_bytes = 0;  // no plan with it moves less, whatever else is chosen
    /// Of the best plan that was found with everything else as it is; absent: none was looked for, or found.
    std::optional<Bytes> moved_bytes;
    std::optional<std::uint64_t> predicted_ns;  // of that plan, where time decides
    std::string reason;                         // why none was found
  };
  std::vector<Instead> instead;
};

/// What the compiler says of a plan that it made, so that nobody has to believe it: everything but the bound and the
/// times can be counted again from the plan alone. A plain value.
struct Evidence {
  /// What found the plan: `controller`, `furthest-next-use`, `rounding`, `branch-and-bound`, ...
  std::string method;
  std::string minimize = "bytes";
  Bytes moved_bytes = 0;  // copied, loaded or expanded from, by all stages; initial placement is not counted
  Bytes lower_bound_bytes = 0;  // no plan that serves every stage under these budgets moves less
  /// Where the lower bound comes from: `lp`, or `combinatorial` (a build without the solver). Either is recomputed in
  /// integers from multipliers, and holds whatever the solver's rounding did.
  std::string bound;
  std::uint64_t nodes = 0;  // of branch and bound
  std::uint64_t compactions = 0;
  Bytes compacted_bytes = 0;
  std::vector<PeakEvidence> peaks;  // of every location that is charged, in location order
  std::optional<TimeEvidence> time;
  std::uint64_t selections = 0;           // of variants, that were compiled
  std::vector<VariantEvidence> variants;  // in the workload's order; empty where it leaves nothing open

  /// Proven: no plan moves fewer bytes.
  bool optimal() const { return moved_bytes == lower_bound_bytes; }
  /// By how much the plan moves more than the bound, as a share of the bound; nothing where the bound is 0 and the
  /// plan's bytes are not.
  std::optional<double> gap() const;
};

}  // namespace fheres::workload
