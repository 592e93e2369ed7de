#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <fheres/report/diff_report.hpp>
#include <fheres/report/table.hpp>

namespace fheres::report {
namespace {

using compile::Difference;
using compile::Movements;
using compile::Step;
using memory::Location;

const char* name(Difference::About about) {
  switch (about) {
    case Difference::About::budget:
      return "budget";
    case Difference::About::value:
      return "value";
    case Difference::About::stage:
      return "stage";
    case Difference::About::transfer:
      return "transfer";
    case Difference::About::eviction:
      return "eviction";
  }
  return "";
}

const char* name(Difference::How how) {
  switch (how) {
    case Difference::How::added:
      return "added";
    case Difference::How::removed:
      return "removed";
    case Difference::How::changed:
      return "changed";
  }
  return "";
}

const char* sign(Difference::How how) {
  return how == Difference::How::added ? "+" : how == Difference::How::removed ? "-" : "~";
}

/// One explanation's actions as steps of a stage.
class StageReader {
 public:
  StageReader(const Json& item, Movements& into) : item_(item), into_(into) {}

  void run() {
    compile::StageMovements& stage = into_.stages.emplace_back();
    stage.name = item_.value("name", "");
    const Json* told = item_.contains("explanation") ? &item_["explanation"] : nullptr;
    if (told == nullptr && item_.contains("decision") && item_["decision"].is_object())
      told = &item_["decision"].at("explanation");
    if (told == nullptr || !told->is_object()) return;
    // A run tells what was predicted where something else happened.
    const bool predicted = told->contains("actions");
    const Json& said = predicted ? *told : item_.at("executed");
    for (const Json& action : said.at(predicted ? "actions" : "transitions")) step(action, stage);
    for (const Json& reservation : said.at("reservations")) {
      stage.reservations[{place(reservation.at("at")), reservation.at("label").get<std::string>()}] +=
          reservation.at("bytes").get<Bytes>();
    }
    for (const Json& location : told->at("locations")) {
      const Location at = place(location.at("at"));
      Bytes& peak = into_.peaks[at];
      peak = std::max(peak, location.at("peak_charged").get<Bytes>());
      if (location.at("budget").is_number()) into_.budgets[at] = location.at("budget").get<Bytes>();
    }
    into_.moved_bytes += told->at("moved_bytes").get<Bytes>();
  }

 private:
  static Location place(const Json& json) { return Location::parse(json.get<std::string>()); }

  static void step(const Json& told, compile::StageMovements& stage) {
    const bool happens = told.contains("work")
                             ? told["work"] != "nothing"
                             : told.at("executable").get<bool>() && !told.at("no_op").get<bool>();
    if (!happens) return;
    const Json& action = told.at("action");
    const std::string phase = told.at("phase").get<std::string>();
    const bool installs = told.at("destination").is_string() && !action.contains("drop");
    for (const char* verb : {"ensure", "move", "drop", "discard"}) {
      if (!action.contains(verb)) continue;
      const std::string value = action[verb].get<std::string>();
      std::optional<Location> source;
      if (told.at("source").is_string()) source = place(told["source"]);
      const Bytes bytes = told.at("bytes").get<Bytes>();
      // A move to where a copy is already only takes the other one away.
      if (installs && (bytes != 0 || std::string_view(verb) == "ensure"))
        stage.steps.push_back({Step::Kind::arrives, value, place(told["destination"]), source, bytes, phase});
      if (source && std::string_view(verb) != "ensure")
        stage.steps.push_back({Step::Kind::leaves, value, *source, {}, 0, phase});
    }
  }

  const Json& item_;
  Movements& into_;
};

std::string budget_and_peak(const Movements& m, Location at) {
  const auto peak = m.peaks.find(at);
  return peak == m.peaks.end() ? "0 B" : format_bytes(peak->second);
}

std::string verdict(const compile::Diff& diff, const Movements& before, const Movements& after) {
  std::string troubles;
  for (const Movements* side : {&before, &after}) {
    if (!side->trouble.empty())
      troubles += fmt::format("{} is not feasible: {}\n", side == &before ? "the first" : "the second",
                              side->trouble);
  }
  if (diff.equal())
    return troubles +
           fmt::format("equal: {} moved in {} stages\n", format_bytes(diff.moved_after), after.stages.size());
  const auto count = [](std::size_t n, const char* what) { return fmt::format("{} {}", n, what); };
  const bool grew = diff.moved_after >= diff.moved_before;
  const Bytes by = grew ? diff.moved_after - diff.moved_before : diff.moved_before - diff.moved_after;
  std::string text =
      fmt::format("different: {} moved, was {} ({}{}); transfers: {}, {}, {}", format_bytes(diff.moved_after),
                  format_bytes(diff.moved_before), grew ? "+" : "-", format_bytes(by),
                  count(diff.added, "appeared"), count(diff.removed, "went"), count(diff.changed, "changed"));
  std::set<Location> locations;
  for (const auto& [at, bytes] : before.peaks) locations.insert(at);
  for (const auto& [at, bytes] : after.peaks) locations.insert(at);
  for (const Location at : locations) {
    const std::string then = budget_and_peak(before, at), now = budget_and_peak(after, at);
    if (then != now) text += fmt::format("; peak at {} {}, was {}", at.name(), now, then);
  }
  return troubles + text + "\n";
}

}  // namespace

std::variant<Movements, std::string> movements_of(const Json& json) {
  try {
    const std::string schema = json.is_object() ? json.value("schema", "") : "";
    const bool is_decision = schema == "fheres/decision/v1";
    if (!is_decision && schema != "fheres/explanation/v1" && schema != "fheres/run/v1") {
      return fmt::format(
          "its schema is `{}`, expected fheres/explanation/v1, fheres/decision/v1 or fheres/run/v1", schema);
    }
    Movements movements;
    movements.name = json.at("document").at("name").get<std::string>();
    if (json.contains("reason") && json["reason"].is_string())
      movements.trouble = json["reason"].get<std::string>();
    if (json.contains("outcome") && json["outcome"].at("failure").is_object())
      movements.trouble = json["outcome"]["failure"].at("message").get<std::string>();
    for (const Json& item : json.at(is_decision ? "decisions" : "stages")) StageReader(item, movements).run();
    return movements;
  } catch (const std::exception& error) {  // a key that is not there, a place that is none, a wrong type
    return fmt::format("it is not what its schema says: {}", error.what());
  }
}

Json diff_json(const compile::Diff& diff, const Movements& before, const Movements& after) {
  Json differences = Json::array();
  const auto text = [](const std::string& item) { return item.empty() ? Json(nullptr) : Json(item); };
  for (const Difference& item : diff.differences) {
    differences.push_back({{"about", name(item.about)},
                           {"how", name(item.how)},
                           {"stage", text(item.stage)},
                           {"name", text(item.value)},
                           {"what", item.what},
                           {"why", text(item.why)},
                           {"bytes_before", item.before},
                           {"bytes_after", item.after}});
  }
  const auto side = [](const Movements& m) {
    Json peaks = Json::object();
    for (const auto& [at, bytes] : m.peaks) peaks[at.name()] = bytes;
    return Json{{"name", m.name},
                {"trouble", m.trouble.empty() ? Json(nullptr) : Json(m.trouble)},
                {"stages", m.stages.size()},
                {"moved_bytes", m.moved_bytes},
                {"peaks", std::move(peaks)}};
  };
  return {{"schema", "fheres/diff/v1"},
          {"equal", diff.equal()},
          {"before", side(before)},
          {"after", side(after)},
          {"transfers", {{"added", diff.added}, {"removed", diff.removed}, {"changed", diff.changed}}},
          {"differences", std::move(differences)}};
}

std::string diff_text(const compile::Diff& diff, const Movements& before, const Movements& after) {
  std::string text = fmt::format("{} -> {}\n\n", before.name, after.name);
  Table table({{"where"}, {""}, {"name"}, {"what"}, {"why"}});
  for (const Difference& item : diff.differences) {
    const bool is_given = item.about == Difference::About::budget || item.about == Difference::About::value;
    table.add({is_given ? name(item.about) : item.stage, sign(item.how),
               item.value.empty() ? name(item.about) : item.value, item.what, item.why});
  }
  if (!table.empty()) text += table.render() + "\n";
  return text + verdict(diff, before, after);
}

}  // namespace fheres::report
