#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>
#include <fheres/verify/checks.hpp>

#include "verify/violations.hpp"

using namespace fheres;
using verify::Phase;
using verify::Verification;
using verify::Violation;
using workload::Location;
using workload::NamedAction;
using workload::Program;

namespace {

const Location kPinned = Location::pinned_host(), kDevice = Location::cuda(0), kOther = Location::cuda(1);

/// Everything that a plan can do, and little room to spare.
constexpr const char* kPlan = R"(apiVersion: fheres/v1
kind: Plan
metadata: {name: whole}
locations: {pinned-host: {budget: 24 KiB}, cuda:0: {budget: 20 KiB}, cuda:1: {budget: 10 KiB}}
values:
  w0: {bytes: 6 KiB, at: pinned-host}
  w1: {bytes: 6 KiB, at: pinned-host}
  x: {bytes: 2 KiB, at: pinned-host, replica: exclusive}
  cold: {bytes: 4 KiB, at: cuda:0}
  seed: {bytes: 1 KiB, at: pinned-host}
  key: {bytes: 2 KiB, backing: seed}
  again: {bytes: 1 KiB, source: {at: pageable-host}}
  scratch: {bytes: 1 KiB, at: cuda:0}
stages:
  - name: one
    reclaim: [{move: cold, to: pinned-host, from: cuda:0}]
    reserve: [{at: cuda:0, bytes: 4 KiB, label: workspace}, {at: cuda:0, bytes: 2 KiB, label: outputs}]
    enter: [{ensure: w0, at: cuda:0}, {move: x, to: cuda:0, from: pinned-host}, {ensure: key, at: cuda:0}]
    prefetch: [{ensure: w1, at: cuda:1}]
    require: {cuda:0: [w0, x, key]}
    workspace: [{from: workspace, bytes: 3 KiB}]
    produce: [{y0: {bytes: 2 KiB, at: cuda:0, from: outputs}}]
    exit: [{drop: w0, at: cuda:0}, {drop: key, at: cuda:0}]
    release: [scratch]
  - name: two
    reclaim: [{move: y0, to: pinned-host}]
    reserve: [{at: cuda:0, bytes: 4 KiB, label: workspace}, {at: cuda:0, bytes: 2 KiB, label: outputs}]
    enter: [{ensure: w1, at: cuda:0}, {ensure: cold, at: cuda:0}, {ensure: again, at: cuda:0}]
    require: {cuda:0: [w1, cold, x, again], cuda:1: [w1]}
    produce: [{y1: {bytes: 2 KiB, at: cuda:0, from: outputs}}]
    exit: [{move: x, to: pinned-host, from: cuda:0}, {drop: w1, at: cuda:1}]
)";

Program program_of(const std::string& text) {
  documents::Loaded loaded = documents::load_text(text, "plan.yaml", ".");
  for (const auto& problem : loaded.diagnostics) FAIL(documents::render(problem, loaded.sources));
  return std::get<Program>(std::move(*loaded.model));
}

/// With the evidence that a compiler would write.
Program good() {
  Program program = program_of(kPlan);
  const verify::Replay replayed = verify::replay(program);
  workload::Evidence evidence;
  evidence.method = "by hand";
  evidence.moved_bytes = replayed.moved_bytes;
  evidence.lower_bound_bytes = replayed.moved_bytes - 1024;
  evidence.compactions = replayed.compactions;
  evidence.compacted_bytes = replayed.compacted_bytes;
  for (const auto& figures : replayed.locations)
    if (figures.peak != 0) evidence.peaks.push_back({figures.at, figures.peak, figures.peak_stage});
  program.evidence = evidence;
  return program;
}

workload::ValueIndex value(const Program& program, const char* name) { return *program.world.find(name); }

struct Damage {
  const char* what;
  std::function<void(Program&)> harm;
  const char* code;
  const char* stage;  // empty: of the whole
  Phase phase;
};

/// `R24 one enter`, of all that was found.
bool has(const Verification& found, const Damage& damage) {
  return std::any_of(found.violations.begin(), found.violations.end(), [&](const Violation& violation) {
    return verify::code(violation) == damage.code && violation.stage == damage.stage &&
           violation.phase == damage.phase;
  });
}

NamedAction ensure(workload::ValueIndex value, Location at, std::optional<Location> from = {}) {
  return {NamedAction::Verb::ensure, value, at, from, {}};
}
NamedAction drop(workload::ValueIndex value, Location at) {
  return {NamedAction::Verb::drop, value, at, {}, {}};
}
workload::Operand operand(workload::ValueIndex value) { return {workload::Operand::From::value, value, {}}; }

const std::vector<Damage> kDamages = {
    {"an ensure is missing", [](Program& p) { p.stages[0].enter.erase(p.stages[0].enter.begin()); }, "R29",
     "one", Phase::body},
    {"a prefetch is missing", [](Program& p) { p.stages[0].prefetch.clear(); }, "R29", "two", Phase::body},
    {"an offload is missing", [](Program& p) { p.stages[0].reclaim.clear(); }, "R24", "one", Phase::enter},
    {"an offload comes too late",
     [](Program& p) {
       p.stages[0].exit.insert(p.stages[0].exit.begin(), p.stages[0].reclaim[0]);
       p.stages[0].reclaim.clear();
     },
     "R24", "one", Phase::enter},
    {"the stages are exchanged", [](Program& p) { std::swap(p.stages[0], p.stages[1]); }, "R39", "two",
     Phase::reclaim},
    {"the copy that it was offloaded to is dropped",
     [](Program& p) {
       auto& exit = p.stages[0].exit;
       exit.insert(exit.begin(), drop(value(p, "cold"), kPinned));
     },
     "R11", "one", Phase::exit},
    {"a value is larger", [](Program& p) { p.world.values[value(p, "cold")].spec.storage_bytes += 2048; },
     "R24", "two", Phase::enter},
    {"a budget is smaller", [](Program& p) { p.world.set_budget(kDevice, 18 * kKiB); }, "R24", "two",
     Phase::enter},
    {"a budget is too small from the start", [](Program& p) { p.world.set_budget(kDevice, 4 * kKiB); }, "R24",
     "", Phase::placement},
    {"a value is released twice",
     [](Program& p) { p.stages[1].release.push_back(operand(value(p, "scratch"))); }, "R6", "two",
     Phase::release},
    {"a value is released before its last use",
     [](Program& p) { p.stages[0].release.push_back(operand(value(p, "x"))); }, "R6", "two", Phase::exit},
    {"a released value is required",
     [](Program& p) { p.stages[0].release.push_back(operand(value(p, "x"))); }, "R29", "two", Phase::body},
    {"a copy comes from where there is none", [](Program& p) { p.stages[0].enter[0].from = kOther; }, "R13",
     "one", Phase::enter},
    {"a move takes what is elsewhere", [](Program& p) { p.stages[1].exit[0].from = kOther; }, "R13", "two",
     Phase::exit},
    {"the last copy is dropped", [](Program& p) { p.stages[0].reclaim[0] = drop(value(p, "cold"), kDevice); },
     "R11", "one", Phase::reclaim},
    {"an exclusive value is copied",
     [](Program& p) { p.stages[0].enter[1].verb = NamedAction::Verb::ensure; }, "R9", "one", Phase::enter},
    {"an exclusive value starts twice",
     [](Program& p) {
       p.world.values[value(p, "x")].at = {kPinned, kDevice};
     },
     "R9", "", Phase::placement},
    {"an output is out of the wrong reservation", [](Program& p) { p.stages[0].produce[0].from = 0; }, "R38",
     "one", Phase::body},
    {"an output is out of a reservation elsewhere",
     [](Program& p) { p.stages[1].reserve[1].spec.at = kOther; }, "R38", "two", Phase::produce},
    {"an output is out of no reservation", [](Program& p) { p.stages[1].produce[0].from = 7; }, "R38", "two",
     Phase::produce},
    {"a reservation is too small for its output",
     [](Program& p) { p.stages[1].reserve[1].spec.bytes = 1024; }, "R38", "two", Phase::produce},
    {"a reservation is too small for the body", [](Program& p) { p.stages[0].reserve[0].spec.bytes = 1024; },
     "R38", "one", Phase::body},
    {"a reservation is larger than the room",
     [](Program& p) { p.stages[1].reserve[0].spec.bytes = 20 * kKiB; }, "R24", "two", Phase::reserve},
    {"a reservation has no label", [](Program& p) { p.stages[1].reserve[0].spec.label.clear(); }, "R36",
     "two", Phase::reserve},
    {"an output is made twice", [](Program& p) { p.stages[1].produce[0].value = value(p, "y0"); }, "R38",
     "two", Phase::produce},
    {"an output is used before it is made",
     [](Program& p) { p.stages[0].enter.push_back(ensure(value(p, "y1"), kDevice)); }, "R39", "one",
     Phase::enter},
    {"a prefetch has no room",
     [](Program& p) { p.stages[0].prefetch.push_back(ensure(value(p, "w0"), kOther)); }, "R24", "one",
     Phase::prefetch},
    {"a prefetch has to be made first",
     [](Program& p) { p.stages[0].prefetch.push_back(ensure(value(p, "again"), kOther)); }, "R21", "one",
     Phase::prefetch},
    {"a prefetch goes to pageable memory",
     [](Program& p) { p.stages[0].prefetch[0].at = Location::pageable_host(); }, "R21", "one",
     Phase::prefetch},
    {"a prefetch is a move", [](Program& p) { p.stages[0].prefetch[0].verb = NamedAction::Verb::move; },
     "R21", "one", Phase::prefetch},
    {"what a key is expanded from is dropped",
     [](Program& p) {
       p.world.values[value(p, "seed")].source = Location::pageable_host();
       p.stages[0].reclaim.push_back(drop(value(p, "seed"), kPinned));
     },
     "R66", "one", Phase::reclaim},
    {"what a key is expanded from is released while the key is nowhere",
     [](Program& p) { p.stages[0].release.push_back(operand(value(p, "seed"))); }, "R66", "one",
     Phase::release},
    {"what a key is expanded from starts nowhere",
     [](Program& p) { p.world.values[value(p, "seed")].at.clear(); }, "R66", "", Phase::placement},
    {"a value starts nowhere", [](Program& p) { p.world.values[value(p, "w0")].at.clear(); }, "R4", "",
     Phase::placement},
    {"a charge is smaller than its value",
     [](Program& p) { p.world.values[value(p, "w0")].spec.storage_bytes = 256; }, "R7", "", Phase::placement},
    {"a charge is no whole number of granules",
     [](Program& p) { p.world.values[value(p, "w0")].spec.storage_bytes += 1; }, "R7", "", Phase::placement},
    {"a stage has no name", [](Program& p) { p.stages[1].name.text.clear(); }, "R39", "", Phase::body},
    {"an action names no value", [](Program& p) { p.stages[0].enter[0].value = 1000; }, "R6", "one",
     Phase::enter},
    {"the bytes moved are wrong", [](Program& p) { p.evidence->moved_bytes += 256; }, "evidence", "",
     Phase::evidence},
    {"a peak is wrong", [](Program& p) { p.evidence->peaks.back().bytes -= 256; }, "evidence", "",
     Phase::evidence},
    {"a peak is in another stage", [](Program& p) { p.evidence->peaks.back().stage = "two"; }, "evidence", "",
     Phase::evidence},
    {"a peak is missing", [](Program& p) { p.evidence->peaks.pop_back(); }, "evidence", "", Phase::evidence},
    {"a peak is where nothing is",
     [](Program& p) {
       p.evidence->peaks.push_back({Location::cuda(5), 256, "one"});
     },
     "evidence", "", Phase::evidence},
    {"the bound is above what is moved",
     [](Program& p) { p.evidence->lower_bound_bytes = p.evidence->moved_bytes + 1; }, "evidence", "",
     Phase::evidence},
    {"compactions are wrong", [](Program& p) { p.evidence->compactions += 1; }, "evidence", "",
     Phase::evidence},
    {"compacted bytes are wrong", [](Program& p) { p.evidence->compacted_bytes += 256; }, "evidence", "",
     Phase::evidence},
    {"an action is missing that no rule asks for",
     [](Program& p) { p.stages[1].exit.erase(p.stages[1].exit.begin()); }, "evidence", "", Phase::evidence},
};

}  // namespace

TEST_CASE("a good plan that does everything is sound, and each of its figures is as counted by hand") {
  const Verification found = verify::check(good());
  CHECK_MESSAGE(found.sound(), all(found));
  // cold, w0, x, seed for key, w1; y0, w1, cold, again, x.
  CHECK(found.replay.moved_bytes == (4 + 6 + 2 + 1 + 6 + 2 + 6 + 4 + 1 + 2) * kKiB);
  REQUIRE(found.replay.locations.size() == 4);
  CHECK(found.replay.locations[0].peak == 1 * kKiB);  // where `again` is made
  CHECK(found.replay.locations[2].at == kDevice);
  CHECK(found.replay.locations[2].peak == 19 * kKiB);
  CHECK(found.replay.locations[2].peak_stage == "two");
  CHECK(found.replay.locations[3].peak == 6 * kKiB);
  CHECK(found.replay.locations[3].at_end == 0);
}

TEST_CASE("every damage that is done to a good plan is found, with the rule that it breaks and where") {
  CHECK(kDamages.size() >= 40);
  for (const Damage& damage : kDamages) {
    Program program = good();
    damage.harm(program);
    const Verification found = verify::check(program);
    CHECK_FALSE_MESSAGE(found.sound(), damage.what);
    CHECK_MESSAGE(has(found, damage), damage.what << ": expected " << damage.code << " in '" << damage.stage
                                                  << "', " << verify::name(damage.phase) << ", found\n"
                                                  << all(found));
  }
}

TEST_CASE("R27: what cannot slide and leaves no piece is named") {
  Program program = program_of(R"(apiVersion: fheres/v1
kind: Plan
metadata: {name: pieces}
locations: {cuda:0: {budget: 1280}}
values:
  a: {bytes: 512, at: pinned-host}
  b: {bytes: 256, at: pinned-host}
  c: {bytes: 768, at: pinned-host}
stages:
  - name: s
    prefetch: [{ensure: a, at: cuda:0}, {ensure: b, at: cuda:0}]
    exit: [{drop: a, at: cuda:0}, {ensure: c, at: cuda:0}]
)");
  const Verification found = verify::check(program);
  REQUIRE(found.violations.size() == 1);
  CHECK(verify::code(found.violations[0]) == "R27");
  CHECK(found.violations[0].place.line == 12);
  CHECK(found.violations[0].message.find("b may not slide") != std::string::npos);
  // Once it has come by an ordinary copy it slides, and that is counted.
  std::swap(program.stages[0].enter, program.stages[0].prefetch);
  const Verification slid = verify::check(program);
  CHECK_MESSAGE(slid.sound(), all(slid));
  CHECK(slid.replay.compacted_bytes == 256);
  CHECK(slid.replay.compactions == 1);
}

TEST_CASE("violations stand at the document's lines, all of them, in run-time order") {
  std::string text = kPlan;
  const auto change = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  change("[{move: cold, to: pinned-host, from: cuda:0}]", "[{drop: cold, at: cuda:0}]");
  change("{move: x, to: pinned-host, from: cuda:0}", "{move: x, to: pinned-host, from: cuda:1}");
  const Verification found = verify::check(program_of(text));
  REQUIRE(found.violations.size() == 3);
  CHECK(verify::code(found.violations[0]) == "R11");
  CHECK(found.violations[0].place.line == 16);
  CHECK(verify::code(found.violations[1]) == "R24");  // so it still takes its room
  CHECK(found.violations[1].place.line == 18);
  CHECK(verify::code(found.violations[2]) == "R13");
  CHECK(found.violations[2].place.line == 31);
  CHECK(verify::sentence(found.violations[2])
            .starts_with("stage two, exit[0]: move x to pinned-host from cuda:1: "));
}
