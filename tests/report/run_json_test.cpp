#include <functional>
#include <memory>

#include <doctest/doctest.h>

#include <fheres/report/baseline.hpp>
#include <fheres/report/chrome_trace.hpp>
#include <fheres/report/diff_report.hpp>
#include <fheres/report/run_json.hpp>
#include <fheres/report/timeline.hpp>

using namespace fheres;
using memory::Location;
using report::Json;

namespace {

const Location kHost = Location::pinned_host(), kDevice = Location::cuda(0);
const residency::HandleId kValue{residency::ManagerId{1}, 0};

/// One value goes to the device and comes back, as it was predicted.
runtime::StageRun stage_of(const std::string& name, Bytes peak) {
  runtime::StageRun stage;
  stage.name = name;
  stage.complete = true;
  const residency::ReservationSpec reservation{kDevice, 64, "workspace"};
  stage.plan.name = name;
  stage.plan.reservations = {reservation};
  stage.plan.enter = {residency::Ensure{kValue, kDevice, {}}};
  stage.plan.exit = {residency::Drop{kValue, kDevice}};
  stage.explanation.plan = stage.report.plan = name;
  stage.explanation.reservations = {{0, reservation, true, {}, {}}};
  stage.report.reservations = {reservation};
  const auto add = [&](residency::Phase phase, const residency::Action& action,
                       residency::Transition::Work work, Location source, std::optional<Location> destination,
                       Bytes bytes) {
    residency::ActionExplanation told;
    told.phase = phase;
    told.action = action;
    told.executable = true;
    told.source = source;
    told.destination = destination;
    told.bytes = bytes;
    stage.explanation.actions.push_back(told);
    residency::TransitionReport done;
    done.action = action;
    done.work = work;
    done.source = source;
    done.destination = destination;
    done.bytes = bytes;
    done.end_ns = 10;
    stage.report.actions.push_back({phase, 0, done});
  };
  using Work = residency::Transition::Work;
  add(residency::Phase::enter, stage.plan.enter[0], Work::copy, kHost, kDevice, 32);
  add(residency::Phase::exit, stage.plan.exit[0], Work::remove, kDevice, {}, 0);
  residency::LocationExplanation location;
  location.at = kDevice;
  location.budget = 1000;
  location.peak_charged = peak;
  stage.explanation.locations = {location};
  stage.report.peaks = {{.at = kDevice, .charged = peak, .allocated = peak - 1}};
  return stage;
}

runtime::RunReport report_of(std::vector<runtime::StageRun> stages) {
  runtime::RunReport report;
  auto spec = std::make_shared<residency::ValueSpec>();
  spec->name = "x";
  residency::ValueSnapshot value;
  value.handle = kValue;
  value.spec = spec;
  report.final_snapshot.values = {value};
  report.stages = std::move(stages);
  report.lives = {{"x", kDevice, 32, 0, 10}};
  report.charges = {{5, kDevice, 32, 64, 1000}};
  report.end_ns = 20;
  return report;
}

Json whole(const runtime::RunReport& report) {
  const report::RunContext context{"1", "w.yaml", "", "w"};
  std::string text;
  report::render(report::run_json(report, context), [&](std::string_view piece) { text += piece; });
  return Json::parse(text);
}

bool tells_actions(const runtime::StageRun& stage) {
  const Json explanation = whole(report_of({stage})).at("stages").at(0).at("explanation");
  CHECK(explanation.contains("actions") == explanation.contains("reservations"));
  return explanation.contains("actions");
}

}  // namespace

TEST_CASE("what was predicted of a stage is told where something else happened, and not twice") {
  const runtime::StageRun stage = stage_of("s", 96);
  CHECK_FALSE(tells_actions(stage));
  using residency::ActionExplanation;
  const std::function<void(ActionExplanation&)> otherwise[] = {
      [](ActionExplanation& told) {
        told.action = residency::Move{kValue, kDevice, {}};
      },
      [](ActionExplanation& told) { told.phase = residency::Phase::prefetch; },
      [](ActionExplanation& told) { told.index = 1; },
      [](ActionExplanation& told) { told.executable = false; },
      [](ActionExplanation& told) { told.no_op = true; },
      [](ActionExplanation& told) { told.asynchronous = true; },
      [](ActionExplanation& told) { told.source = Location::pageable_host(); },
      [](ActionExplanation& told) { told.destination = Location::cuda(1); },
      [](ActionExplanation& told) { ++told.bytes; },
      [](ActionExplanation& told) { ++told.compacted; },
      [](ActionExplanation& told) { told.expanded_from = kValue; },
      [](ActionExplanation& told) { ++told.temporary_bytes; }};
  for (const auto& change : otherwise) {
    for (std::size_t i = 0; i < stage.explanation.actions.size(); ++i) {
      runtime::StageRun other = stage;
      change(other.explanation.actions[i]);
      CHECK(tells_actions(other));
    }
  }
  for (const auto& change : std::initializer_list<std::function<void(runtime::StageRun&)>>{
           [](auto& other) { other.complete = false; },
           [](auto& other) { other.explanation.feasible = false; },
           [](auto& other) { other.report.actions.pop_back(); },
           [](auto& other) { other.explanation.actions.pop_back(); },
           [](auto& other) { other.report.reservations.clear(); },
           [](auto& other) { ++other.explanation.reservations[0].spec.bytes; },
           [](auto& other) { other.explanation.reservations[0].executable = false; }}) {
    runtime::StageRun other = stage;
    change(other);
    CHECK(tells_actions(other));
  }
}

TEST_CASE("what moved is read from a run's report alike, whether its predictions are told or not") {
  runtime::StageRun told = stage_of("s", 96);
  told.complete = false;
  const auto read = [](const runtime::StageRun& stage) {
    return std::get<compile::Movements>(report::movements_of(whole(report_of({stage}))));
  };
  const compile::Movements a = read(told), b = read(stage_of("s", 96));
  CHECK(compile::diff(a, b).equal());
  REQUIRE(b.stages.size() == 1);
  CHECK(b.stages[0].steps.size() == 2);
  CHECK(b.stages[0].reservations.size() == 1);
  CHECK(b.moved_bytes == 32);
  CHECK(b.peaks.at(kDevice) == 96);
}

TEST_CASE("a stage tells its plan once, also where the controller decided it") {
  runtime::StageRun stage = stage_of("s", 96);
  stage.decision.emplace();
  stage.decision->policy = "tiered-lru";
  stage.decision->plan = stage.plan;
  const Json told = whole(report_of({stage})).at("stages").at(0);
  CHECK(told.at("decision").at("policy") == "tiered-lru");
  CHECK_FALSE(told.at("decision").contains("plan"));
  CHECK_FALSE(told.at("decision").contains("explanation"));
  CHECK(told.at("plan").at("enter").size() == 1);
}

TEST_CASE("who holds the room is told with what protects it, where something does") {
  runtime::StageRun stage = stage_of("s", 96);
  stage.explanation.locations[0].holders = {{kValue, "x", 32, {}}, {{}, "workspace", 64, {}}};
  stage.explanation.locations[0].holders[0].protection.hold = 2;
  const Json told = whole(report_of({stage}));
  const Json& holders = told.at("stages").at(0).at("explanation").at("locations").at(0).at("holders");
  CHECK(holders == Json::parse(R"([
      {"name": "x", "kind": "value", "bytes": 32, "protection": {"use": 0, "hold": 2, "pending": 0}},
      {"name": "workspace", "kind": "reservation", "bytes": 64}])"));
}

TEST_CASE("a report names the first stage where each location was fullest, and a baseline reads that") {
  const Json told =
      whole(report_of({stage_of("first", 96), stage_of("fullest", 128), stage_of("as full", 128)}));
  CHECK(told.at("peaks") == Json::parse(R"([{"at": "cuda:0", "budget": 1000, "predicted_charged": 128,
      "measured_charged": 128, "measured_allocated": 127, "stage": "fullest"}])"));
  Json head = told;
  head["stages"] = Json::array();
  const auto measures = report::measures_of(head);
  REQUIRE(measures);
  CHECK(measures->peaks.at("cuda:0") == 128);
  CHECK(measures->moved_bytes == report::measures_of(told)->moved_bytes);
}

TEST_CASE("a timeline is the same of a report that is not written yet") {
  const runtime::RunReport run = report_of({stage_of("a", 96), stage_of("b", 97)});
  const report::RunContext context{"1", "w.yaml", "", "w"};
  const report::Timeline timeline = report::read_timeline(report::run_json(run, context));
  CHECK(timeline.stages.size() == 2);
  CHECK(timeline.lives.size() == 1);
  CHECK(report::chrome_trace_text(timeline) == report::chrome_trace_text(report::read_timeline(whole(run))));
}
