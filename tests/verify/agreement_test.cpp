#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fheres/verify/replay.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "verify/random_program.hpp"

namespace fheres::verify::testing {
namespace {

using residency::Refusal;
using workload::Program;

/// What State's refusal is called in page 03; several where the page has several words for one.
std::vector<int> rules_of(Refusal::Rule rule) {
  using Rule = Refusal::Rule;
  switch (rule) {
    case Rule::unavailable:
      return {13, 39};
    case Rule::budget:
      return {24, 38};  // of a location, or of a reservation that has to pay
    case Rule::fragmented:
      return {27};
    case Rule::exclusive_elsewhere:
      return {9};
    case Rule::last_copy:
      return {11};
    case Rule::last_backing:
    case Rule::backing_gone:
    case Rule::needed_backing:
    case Rule::no_backing:
      return {66};
    case Rule::discarded_handle:
      return {6};
    case Rule::pageable_end:
    case Rule::host_expansion:
      return {21};
    case Rule::not_announced:
      return {38};
    default:
      return {};
  }
}

/// `s1 enter 0`, of the first refusal; and its rules.
struct First {
  std::string where;
  std::vector<int> rules;
};

First first_of(const workload::Rehearsal& rehearsal) {
  First first;
  if (rehearsal.stages.empty()) return {"placement", {}};
  const workload::StageRehearsal& stage = rehearsal.stages.back();
  const residency::Explanation& told = stage.explanation;
  first.where = stage.name + " ";
  if (told.feasible) {
    first.where += "release";
    return first;
  }
  first.rules = rules_of(told.refusal->rule);
  first.where += told.phase ? name(*told.phase) : told.reason.starts_with("workspace") ? "body 0" : "produce";
  for (const auto& action : told.actions)
    if (action.refusal) first.where += fmt::format(" {}", action.index);
  for (const auto& reservation : told.reservations)
    if (reservation.refusal) first.where += fmt::format(" {}", reservation.index);
  return first;
}

std::string where_of(const Violation& violation) {
  if (violation.phase == Phase::placement) return "placement";
  if (violation.phase == Phase::produce || violation.phase == Phase::release)
    return fmt::format("{} {}", violation.stage, name(violation.phase));
  return fmt::format("{} {} {}", violation.stage, name(violation.phase), violation.index);
}

/// How the two disagree on a Program: empty where they do not.
std::string disagreement(const Program& program, bool& allowed) {
  const Replay replayed = replay(program);
  allowed = replayed.sound();
  std::optional<workload::Rehearsal> rehearsed;
  try {
    rehearsed = rehearse(program);
  } catch (const std::invalid_argument& error) {  // a Program that no document can hold
    return allowed ? std::string("rehearse throws: ") + error.what() : "";
  }
  if (allowed != (rehearsed->answer == workload::Answer::feasible)) {
    return allowed ? "rehearse refuses: " + rehearsed->reason
                   : "replay refuses: " + sentence(replayed.violations.front());
  }
  if (!allowed) {
    const First first = first_of(*rehearsed);
    const Violation& other = replayed.violations.front();
    if (first.where != where_of(other))
      return fmt::format("rehearse at {}: {}; replay: {}", first.where, rehearsed->reason, sentence(other));
    if (!first.rules.empty() &&
        std::find(first.rules.begin(), first.rules.end(), other.rule) == first.rules.end())
      return fmt::format("{}: {}; R{}: {}", first.where, rehearsed->reason, other.rule, other.message);
    return "";
  }
  if (replayed.moved_bytes != rehearsed->moved_bytes)
    return fmt::format("moved {} and {}", rehearsed->moved_bytes, replayed.moved_bytes);
  if (replayed.compacted_bytes != rehearsed->compacted_bytes)
    return fmt::format("compacted {} and {}", rehearsed->compacted_bytes, replayed.compacted_bytes);
  for (const LocationFigures& figures : replayed.locations) {
    const auto found = std::find_if(rehearsed->peaks.begin(), rehearsed->peaks.end(),
                                    [&](const workload::Peak& peak) { return peak.at == figures.at; });
    const Bytes peak = found == rehearsed->peaks.end() ? 0 : found->charged;
    const std::string stage = found == rehearsed->peaks.end() ? "" : found->stage;
    if (peak != figures.peak || stage != figures.peak_stage)
      return fmt::format("peak at {}: {} in '{}', and {} in '{}'", figures.at.name(), peak, stage,
                         figures.peak, figures.peak_stage);
  }
  return "";
}

}  // namespace

TEST_CASE(
    "replay and rehearse agree on random Programs, good and damaged: verdict, first refusal, bytes, peaks") {
  const std::uint64_t seed = test::test_seed(20260731);
  std::size_t allowed = 0, refused = 0;
  for (std::uint64_t round = 0; round < 6000; ++round) {
    test::Random random(seed + round);
    Program program = random_program(random);
    for (std::size_t damages = 0; damages < 3; ++damages) {
      bool is_allowed = false;
      const std::string why = disagreement(program, is_allowed);
      (is_allowed ? allowed : refused) += 1;
      if (!why.empty()) {
        FAIL_CHECK("seed " << seed << ", round " << round << ", after " << damages << " damages: " << why
                           << "\n"
                           << describe(program));
        return;
      }
      damage(program, random);
    }
  }
  CHECK(allowed > 5000);
  CHECK(refused > 5000);
}

TEST_CASE(
    "R23, R27: what a stage requires is settled when its body ends and slides from then on, as the rehearsal "
    "has it") {
  constexpr Bytes kTile = 4 * kGranule;
  const workload::Location host = workload::Location::pinned_host(), device = workload::Location::cuda(0);
  using Verb = workload::NamedAction::Verb;
  for (const bool required : {false, true}) {
    CAPTURE(required);
    Program program;
    program.metadata.name.text = "settled";
    program.world.locations = {{device, 4 * kTile, {}}};
    for (const auto& [name, bytes] :
         {std::pair("a", kTile), std::pair("b", kTile), std::pair("c", 3 * kTile)}) {
      workload::Value value;
      value.name.text = name;
      value.spec = workload::make_bytes_spec(name, bytes, residency::ReplicaMode::replicable);
      value.at = {host};
      program.world.values.push_back(value);
    }
    program.stages.resize(3);
    for (std::size_t s = 0; s < 3; ++s) program.stages[s].name.text = "s" + std::to_string(s);
    program.stages[0].prefetch = {{Verb::ensure, 0, device, {}, {}}, {Verb::ensure, 1, device, {}, {}}};
    if (required) program.stages[1].require = {{1, device, {}}};
    program.stages[2].reclaim = {{Verb::drop, 0, device, {}, {}}};
    program.stages[2].enter = {{Verb::ensure, 2, device, {}, {}}};
    // The same by hand, in the stages of a workload.
    workload::Workload by_hand;
    by_hand.metadata = program.metadata;
    by_hand.world = program.world;
    for (const workload::ProgramStage& from : program.stages) {
      workload::Stage stage;
      stage.name = from.name;
      stage.require = from.require;
      stage.plan = workload::ManualPlan{from.reclaim, from.enter, from.prefetch, from.exit, {}};
      by_hand.stages.push_back(stage);
    }
    const workload::Rehearsal rehearsal = workload::rehearse(program), manual = workload::rehearse(by_hand);
    const Replay replayed = replay(program, {});
    CHECK((rehearsal.answer == workload::Answer::feasible) == required);
    CHECK((manual.answer == workload::Answer::feasible) == required);
    CHECK(replayed.sound() == required);
    if (required) {
      CHECK(rehearsal.compacted_bytes == kTile);
      CHECK(manual.compacted_bytes == kTile);
      CHECK(replayed.compacted_bytes == kTile);
    } else {
      REQUIRE(!replayed.violations.empty());
      CHECK(replayed.violations[0].rule == 27);
    }
  }
}

}  // namespace fheres::verify::testing
