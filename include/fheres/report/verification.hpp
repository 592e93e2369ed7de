#pragma once

#include <string>

#include <fheres/report/json.hpp>
#include <fheres/verify/checks.hpp>

namespace fheres::report {

/// Of the verified document.
struct Verified {
  std::string name;
  std::string file;
  std::size_t stages = 0;
  std::string workload;  // the file that it was held against; empty: none
};

/// `fheres/verification/v1`: every violation with rule, stage, phase, index and place; the replayed figures.
Json verification_json(const verify::Verification& verification, const Verified& of);
/// The replayed figures and, in the last line, what came out. Violations are the caller's to print.
std::string verification_text(const verify::Verification& verification, const Verified& of);

}  // namespace fheres::report
