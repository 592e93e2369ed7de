#pragma once

#include <string>
#include <string_view>

namespace fheres::report {

/// As the text of an element, or the value of an attribute, of XML or HTML. What is no well-formed UTF-8, or no character that
/// XML may have, becomes U+FFFD.
std::string escaped(std::string_view text);

}  // namespace fheres::report
