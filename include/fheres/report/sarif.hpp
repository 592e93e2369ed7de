#pragma once

#include <span>
#include <string>

#include <fheres/report/finding.hpp>
#include <fheres/report/json.hpp>

namespace fheres::report {

/// SARIF 2.1.0, as code scanning reads it: one run, one result for each finding, each with a physical location in the
/// document (line 1 where the finding has a file and no line). Rules are the findings' codes, ascending, with what
/// documents::meaning says of them. Columns count code points, and the log says so. `command` (`fheres explain`) and
/// `document`, its name, make the run's category.
Json sarif(std::span<const Finding> findings, const std::string& tool_version, const std::string& command,
           const std::string& document);

}  // namespace fheres::report
