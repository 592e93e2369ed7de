#pragma once

#include <string>

#include <fheres/report/long_answer.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::report {

/// `fheres/explanation/v1`: the answer, every action of every stage, every peak. Byte-identical for equal documents. It
/// looks into its rehearsal.
LongAnswer explanation_json(const workload::Rehearsal& rehearsal, const std::string& name,
                            const std::string& file);
/// `fheres/decision/v1`: what the controller decided for each request or stage, with reasons.
LongAnswer decisions_json(const workload::Rehearsal& rehearsal, const std::string& name,
                          const std::string& file);

}  // namespace fheres::report
