#pragma once

#include <string>
#include <vector>

#include <fheres/documents/load.hpp>
#include <fheres/report/finding.hpp>

#include "options.hpp"

namespace fheres::cli {

/// Whether `--format` asks for what a CI server reads.
bool is_for_ci(const CommonOptions& common);
/// Prints it: JUnit XML with all cases, or SARIF with their findings. `command` as the user typed it (`fheres explain`).
void print_for_ci(const CommonOptions& common, const std::string& command, const std::string& document,
                  const std::vector<report::Case>& cases);

/// A document as one case: passed where it is valid.
report::Case case_of(const std::string& file, const documents::Loaded& loaded);

}  // namespace fheres::cli
