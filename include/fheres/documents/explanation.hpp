#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fheres::documents {

/// A diagnostic code at length: `fheres explain-code`.
struct Explanation {
  std::string_view code;
  std::string_view why;  // what is checked, and what would go wrong otherwise
  /// Lines of a document that are reported with the code. Without `apiVersion`, the rest of a Workload is left out:
  /// its head, and its stages where there are none. Empty where no document shows it: the file itself is the mistake.
  std::string_view example;
  std::string_view cure;
};

/// One for each code (documents/diagnostic.hpp), in the same order.
std::span<const Explanation> explanations();
/// Null for an unknown code.
const Explanation* explanation(std::string_view code);

/// The example as a whole document.
std::string whole_document(const Explanation& explanation);

/// Meaning, reason, example and cure as text, lines of at most 100 columns.
std::string render(const Explanation& explanation);

}  // namespace fheres::documents
