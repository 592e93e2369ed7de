#pragma once

#include <string>

#include <fheres/report/json.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::report {

/// `fheres/explanation/v1`: the answer, every action of every stage, every peak. Byte-identical for equal documents.
Json explanation_json(const workload::Rehearsal& rehearsal, const std::string& name, const std::string& file);
/// `fheres/decision/v1`: what the controller decided for each request or stage, with reasons.
Json decisions_json(const workload::Rehearsal& rehearsal, const std::string& name, const std::string& file);

}  // namespace fheres::report
