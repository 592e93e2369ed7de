#pragma once

#include <string>
#include <variant>
#include <vector>

#include <fheres/compile/fit.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

using Fits = std::vector<std::variant<compile::Fit, compile::Unfit>>;

/// `fheres/fit/v1`.
Json fit_json(const Fits& fits, const std::string& name, const std::string& file);
std::string fit_text(const Fits& fits, const std::string& name);
/// `location,budget,moved_bytes,lower_bound_bytes,predicted_ns,bend`, a line a point of each sweep.
std::string fit_csv(const Fits& fits);
/// A picture of the sweeps, one above the other: bytes moved and their lower bound by budget, bends marked. SVG, without
/// anything from outside.
std::string fit_svg(const Fits& fits, const std::string& name);

}  // namespace fheres::report
