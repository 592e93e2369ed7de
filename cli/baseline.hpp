#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/report/baseline.hpp>
#include <fheres/report/finding.hpp>

#include "exit_code.hpp"
#include "options.hpp"

namespace fheres::cli {

/// An earlier answer or report that the present one is held against (exit 6).
class Baseline {
 public:
  /// One that compares nothing, where no file is given. Nothing, and a message, where the file cannot be read, is no
  /// answer or report of fheres, or is of another document.
  static std::optional<Baseline> read(const std::string& file, const std::string& document);

  /// Compares, and notes in the JSON what is worse. 6 in place of 0; a code that says more stays.
  ExitCode judge(ExitCode code, report::Json& json);
  /// A case of its own, at the document's place.
  void add_case(std::vector<report::Case>& cases, const workload::Place& document) const;
  /// The line on stderr that says what grew; nothing where nothing did.
  void say() const;

 private:
  std::string line() const;

  std::string file_;
  report::Measures measures_;
  std::vector<std::string> worse_;
};

void add_baseline(Command& command, std::string& file);

}  // namespace fheres::cli
