#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/verify/violation.hpp>

namespace fheres::verify {

const char* name(Phase phase) {
  switch (phase) {
    case Phase::placement:
      return "placement";
    case Phase::reclaim:
      return "reclaim";
    case Phase::reserve:
      return "reserve";
    case Phase::enter:
      return "enter";
    case Phase::prefetch:
      return "prefetch";
    case Phase::body:
      return "body";
    case Phase::produce:
      return "produce";
    case Phase::exit:
      return "exit";
    case Phase::release:
      return "release";
    case Phase::evidence:
      return "evidence";
    case Phase::workload:
      return "workload";
  }
  FHERES_CHECK(false);
}

std::string code(const Violation& violation) {
  return violation.rule != 0 ? fmt::format("R{}", violation.rule) : name(violation.phase);
}

std::string sentence(const Violation& violation) {
  if (violation.stage.empty()) {
    return violation.phase == Phase::placement ? fmt::format("initial placement: {}", violation.message)
                                               : violation.message;
  }
  const bool is_one = violation.phase == Phase::body || violation.phase == Phase::workload;
  const std::string where =
      is_one ? name(violation.phase) : fmt::format("{}[{}]", name(violation.phase), violation.index);
  return fmt::format("stage {}, {}: {}", violation.stage, where, violation.message);
}

}  // namespace fheres::verify
