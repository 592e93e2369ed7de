#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <fheres/report/json.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace fheres::report {

/// An answer as one JSON object, of which the list of stages is made piece by piece: of 10,000 stages it is hundreds of
/// megabytes of text. It looks into its rehearsal, which has to stay.
struct LongAnswer {
  Json head;         // the whole object, with that list empty
  std::string list;  // its key
  std::size_t count = 0;
  std::function<Json(std::size_t)> item;
};

/// `fheres/explanation/v1`: the answer, every action of every stage, every peak. Byte-identical for equal documents.
LongAnswer explanation_json(const workload::Rehearsal& rehearsal, const std::string& name,
                            const std::string& file);
/// `fheres/decision/v1`: what the controller decided for each request or stage, with reasons.
LongAnswer decisions_json(const workload::Rehearsal& rehearsal, const std::string& name,
                          const std::string& file);

/// Gives the text that render() would give of the whole, in pieces.
void render(const LongAnswer& answer, const std::function<void(std::string_view)>& sink);

}  // namespace fheres::report
