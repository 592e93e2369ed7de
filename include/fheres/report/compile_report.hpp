#pragma once

#include <string>

#include <fheres/compile/compile.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

/// `fheres/compilation/v1`: the answer, the evidence, and every way that was tried. `plan`: where the Plan was written.
Json compile_json(const compile::Outcome& outcome, const std::string& name, const std::string& file,
                  const std::string& plan);
/// A short table of the ways that were tried, what cannot hold together, and a last line that says it all.
std::string compile_text(const compile::Outcome& outcome, const std::string& name, const std::string& plan);

Json to_json(const workload::Evidence& evidence);
/// `3.1% over the lower bound`, `proven optimal`.
std::string gap_text(const workload::Evidence& evidence);

}  // namespace fheres::report
