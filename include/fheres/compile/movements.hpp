#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fheres/control/search.hpp>
#include <fheres/workload/model.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::compile {

using memory::Location;

/// A value comes to a location, is made there, or leaves it.
struct Step {
  enum class Kind { arrives, made, leaves };
  Kind kind = Kind::arrives;
  std::string value;
  Location at = Location::pageable_host();
  std::optional<Location> from;  // arrives: where it is read
  Bytes bytes = 0;               // moved
  std::string phase;             // `reclaim`, `enter`, `prefetch`, `body`, `exit`, `release`
};

struct StageMovements {
  std::string name;
  std::string variant;      // of its body, where there was one to choose
  std::vector<Step> steps;  // in run-time order
  std::map<std::pair<Location, std::string>, Bytes> reservations;  // by location and label
  /// What the body needs, where that is known.
  std::optional<std::set<std::pair<std::string, Location>>> uses;
  std::vector<std::string> body;  // a line for each operation, of a workload
};

/// What does not change of a value, as far as it matters to where it goes.
struct ValueFacts {
  Bytes bytes = 0;
  std::set<Location> at;  // where it starts
  std::string kind;       // `bytes, exclusive, made again at pageable-host`
  std::string variant;    // where there was one to choose
};

/// What moves when, of a Program, a workload, or a report: what two of them are compared by. A plain value.
struct Movements {
  std::string name;
  std::string trouble;  // why it ends early; empty where it is feasible
  /// Absent where the source does not say (a report says what moved, not what was there).
  std::optional<std::map<std::string, ValueFacts>> values;
  std::map<Location, Bytes> budgets;
  std::map<Location, Bytes> peaks;
  std::vector<StageMovements> stages;
  Bytes moved_bytes = 0;
};

/// By a dry run of the plans that it holds.
Movements movements_of(const workload::Program& program);
/// By a dry run under its own policy.
Movements movements_of(const workload::Workload& workload, const control::DecideOptions& options = {});

}  // namespace fheres::compile
