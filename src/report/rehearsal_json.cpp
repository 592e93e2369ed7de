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

/// The controller's proof, or that it has none.
void add_outcome(Json& json, const workload::StageRehearsal& stage) {
  if (stage.infeasible) json["infeasible"] = to_json(*stage.infeasible);
  if (stage.inconclusive) json["inconclusive"] = to_json(*stage.inconclusive);
}

}  // namespace

Json explanation_json(const workload::Rehearsal& rehearsal, const std::string& name,
                      const std::string& file) {
  const NameOf names = names_of(rehearsal);
  Json json = head(rehearsal, "fheres/explanation/v1", name, file);
  json["placement"] = to_json(rehearsal.placement, names);
  json["stages"] = Json::array();
  for (const workload::StageRehearsal& stage : rehearsal.stages) {
    Json item = {
        {"name", stage.name}, {"answer", answer_name(stage.answer)}, {"place", place_json(stage.place)}};
    add_outcome(item, stage);
    if (!stage.explanation.plan.empty()) item["explanation"] = to_json(stage.explanation, names);
    json["stages"].push_back(std::move(item));
  }
  return json;
}

Json decisions_json(const workload::Rehearsal& rehearsal, const std::string& name, const std::string& file) {
  const NameOf names = names_of(rehearsal);
  Json json = head(rehearsal, "fheres/decision/v1", name, file);
  json["decisions"] = Json::array();
  for (const workload::StageRehearsal& stage : rehearsal.stages) {
    Json item = {
        {"name", stage.name}, {"answer", answer_name(stage.answer)}, {"place", place_json(stage.place)}};
    add_outcome(item, stage);
    if (stage.decision) item["decision"] = to_json(*stage.decision, names);
    json["decisions"].push_back(std::move(item));
  }
  return json;
}

}  // namespace fheres::report
