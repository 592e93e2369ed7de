#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

/// What two answers or reports are held against each other by. Read from what fheres wrote, of any schema that has
/// these: explanations, decisions, run reports, compiled answers.
struct Measures {
  std::string document;                // metadata.name
  bool feasible = true;                // whether there is anything to compare with
  std::optional<Bytes> moved_bytes;    // by stages
  std::map<std::string, Bytes> peaks;  // charged, by location
  std::optional<double> predicted_ns;  // the predicted makespan
  std::optional<double> gap;           // of a compiled plan over its lower bound, as a share of the bound
};

/// Nothing where the JSON is no such answer.
std::optional<Measures> measures_of(const Json& json);

/// What is worse now, each as `peak at cuda:0 38 MiB, was 37 MiB (+1 MiB)`; empty where nothing is. What only one of them
/// has is not compared; against an infeasible baseline nothing is worse. A gap
/// is worse only where no fewer bytes are moved: a plan that moves less may well be further from a bound that fell more.
std::vector<std::string> worse(const Measures& now, const Measures& baseline);

}  // namespace fheres::report
