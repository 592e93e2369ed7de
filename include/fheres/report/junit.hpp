#pragma once

#include <span>
#include <string>

#include <fheres/report/finding.hpp>

namespace fheres::report {

/// JUnit XML, as CI servers read it: one test suite, one test case for each part. `suite` names the suite (`fheres explain`),
/// `document` is each case's class name. A failed case is a `failure` whose type is the finding's code, an undecided one
/// an `error`. No times: equal inputs give equal bytes. Characters that XML cannot have are replaced.
std::string junit(const std::string& suite, const std::string& document, std::span<const Case> cases);

}  // namespace fheres::report
