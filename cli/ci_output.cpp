#include "ci_output.hpp"

#include <cstdio>

#include <fmt/format.h>

#include <fheres/report/junit.hpp>
#include <fheres/report/sarif.hpp>

#include "features.hpp"

namespace fheres::cli {

bool is_for_ci(const CommonOptions& common) { return common.format == "junit" || common.format == "sarif"; }

void print_for_ci(const CommonOptions& common, const std::string& command, const std::string& document,
                  const std::vector<report::Case>& cases) {
  if (common.format == "junit") {
    fmt::print("{}", report::junit(command, document, cases));
  } else {
    fmt::print("{}", report::render(report::sarif(report::findings_of(cases), kVersion, command, document)));
  }
}

report::Case case_of(const std::string& file, const documents::Loaded& loaded) {
  report::Case item;
  item.name = file;
  item.findings = loaded.diagnostics;
  if (!item.findings.empty()) item.result = report::Case::Result::failed;
  return item;
}

}  // namespace fheres::cli
