#include "document.hpp"

#include <fheres/documents/load.hpp>

namespace fheres::test {

std::string check_document(std::string_view text, const std::string& folder) {
  const documents::Loaded loaded = documents::load_text(text, "fuzz.yaml", folder);
  if (loaded.model.has_value() != loaded.diagnostics.empty())
    return "neither a model nor diagnostics, or both";
  if (loaded.diagnostics.size() > 1001) return "more than a thousand diagnostics";
  std::size_t rendered = 0;
  for (const documents::Diagnostic& d : loaded.diagnostics) {
    if (documents::meaning(d.code).empty()) return "an unknown code " + d.code;
    if (d.message.empty() || d.message.find('\n') != std::string::npos)
      return "a message of no line, or several";
    if (d.place.line < 0 || d.place.column < 0 || d.place.length < 0) return "a place before the text";
    // Rendering looks for the line, and a thousand of them are only slow.
    if (++rendered <= 20 && documents::render(d, loaded.sources).size() > 5000)
      return "a rendering that is too long";
  }
  return {};
}

}  // namespace fheres::test
