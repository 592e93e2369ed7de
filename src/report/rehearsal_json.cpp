#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/text.hpp>

namespace fheres::report {
namespace {

const char* answer_name(workload::Answer answer) {
  switch (answer) {
    case workload::Answer::feasible:
      return "feasible";
    case workload::Answer::infeasible:
      return "infeasible";
    case workload::Answer::inconclusive:
      return "inconclusive";
  }
  return "";
}

Json place_json(const workload::Place& place) {
  if (!place.known()) return nullptr;
  return {{"file", place.file.str()}, {"line", place.line}, {"column", place.column}};
}

Json head(const workload::Rehearsal& rehearsal, const char* schema, const std::string& name,
          const std::string& file) {
  Json peaks = Json::array();
  for (const workload::Peak& peak : rehearsal.peaks) {
    peaks.push_back({{"at", peak.at.name()},
                     {"budget", peak.budget ? Json(*peak.budget) : Json(nullptr)},
                     {"charged", peak.charged},
                     {"stage", peak.stage.empty() ? Json(nullptr) : Json(peak.stage)}});
  }
  return {{"schema", schema},
          {"document", {{"file", file}, {"name", name}}},
          {"answer", answer_name(rehearsal.answer)},
          {"reason", rehearsal.reason.empty() ? Json(nullptr) : Json(rehearsal.reason)},
          {"place", place_json(rehearsal.place)},
          {"peaks", std::move(peaks)},
          {"moved_bytes", rehearsal.moved_bytes},
          {"compacted_bytes", rehearsal.compacted_bytes}};
}

/// With the controller's proof, or that it has none.
Json stage_head(const workload::StageRehearsal& stage) {
  Json json = {
      {"name", stage.name}, {"answer", answer_name(stage.answer)}, {"place", place_json(stage.place)}};
  if (stage.infeasible) json["infeasible"] = to_json(*stage.infeasible);
  if (stage.inconclusive) json["inconclusive"] = to_json(*stage.inconclusive);
  return json;
}

}  // namespace

LongAnswer explanation_json(const workload::Rehearsal& rehearsal, const std::string& name,
                            const std::string& file) {
  Json json = head(rehearsal, "fheres/explanation/v1", name, file);
  const NameOf names = names_of(rehearsal);
  json["placement"] = to_json(rehearsal.placement, names);
  json["stages"] = Json::array();
  return {std::move(json), {{"/stages", rehearsal.stages.size(), [&rehearsal, names](std::size_t i) {
                               const workload::StageRehearsal& stage = rehearsal.stages[i];
                               Json item = stage_head(stage);
                               if (!stage.explanation.plan.empty())
                                 item["explanation"] = to_json(stage.explanation, names);
                               return item;
                             }}}};
}

LongAnswer decisions_json(const workload::Rehearsal& rehearsal, const std::string& name,
                          const std::string& file) {
  Json json = head(rehearsal, "fheres/decision/v1", name, file);
  json["decisions"] = Json::array();
  return {std::move(json),
          {{"/decisions", rehearsal.stages.size(), [&rehearsal, names = names_of(rehearsal)](std::size_t i) {
              const workload::StageRehearsal& stage = rehearsal.stages[i];
              Json item = stage_head(stage);
              if (stage.decision) item["decision"] = to_json(*stage.decision, names);
              return item;
            }}}};
}

}  // namespace fheres::report
