#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/workload/place.hpp>

namespace fheres::documents {

/// A problem of a document, at its line. One severity: everything that is reported is an error.
using Diagnostic = workload::Problem;

/// A code and its meaning in one line, for `explain-code` and for SARIF rules.
struct Code {
  std::string_view code;
  std::string_view meaning;
};
/// All codes, ascending. Codes never change their meaning.
std::span<const Code> codes();
std::string_view meaning(std::string_view code);  // empty for an unknown code

/// The lines of the files that diagnostics point into.
using Sources = std::map<std::string, std::string>;  // file name -> whole text

/// One diagnostic as text:
///     samples/x.yaml:12:9: error: unknown key `stepz` [FHR0103]
///        12 |   rot1: {rotation_key: {stepz: 1}}
///           |                         ^~~~~
///           = did you mean `steps`?
/// The source lines are left out where the file or line is not known.
std::string render(const Diagnostic& diagnostic, const Sources& sources, bool color = false);

/// By file, line, column, then code and message; exact repeats are removed.
void sort_by_place(std::vector<Diagnostic>& diagnostics);

/// Of sorted diagnostics: says in each message for which item of a `for` it is, and leaves one of those that say the
/// same code at the same place for several items.
void name_instances(std::vector<Diagnostic>& diagnostics);

}  // namespace fheres::documents
