#pragma once

#include <string>

#include <fheres/verify/checks.hpp>

/// Every violation's code and sentence, a line each.
inline std::string all(const fheres::verify::Verification& found) {
  std::string text;
  for (const fheres::verify::Violation& violation : found.violations)
    text += fheres::verify::code(violation) + " " + fheres::verify::sentence(violation) + "\n";
  return text;
}
