#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fheres::test {

/// Reads the text as a document in the folder and holds what the loader promises: a model or diagnostics, never both
/// and never neither, each diagnostic with a known code, one line of message and a bounded rendering. What is wrong, or
/// nothing. An exception is a fault too, and goes through.
std::string check_document(std::string_view text, const std::string& folder);

}  // namespace fheres::test
