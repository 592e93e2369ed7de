#pragma once

#include <string>
#include <variant>

#include <fheres/compile/diff.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

/// What moved when, out of the JSON of `explain` (`fheres/explanation/v1`), `decide` (`fheres/decision/v1`)
/// or a run's report (`fheres/run/v1`); or why not, one line. Never throws for what the JSON holds.
std::variant<compile::Movements, std::string> movements_of(const Json& json);

/// `fheres/diff/v1`.
Json diff_json(const compile::Diff& diff, const compile::Movements& before, const compile::Movements& after);
/// A table of what changed and why, and a last line that says it all.
std::string diff_text(const compile::Diff& diff, const compile::Movements& before,
                      const compile::Movements& after);

}  // namespace fheres::report
