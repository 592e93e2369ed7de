#include <doctest/doctest.h>

#include <fheres/workload/check.hpp>

using namespace fheres;
using namespace fheres::workload;

namespace {

ProgramDraft program_draft() {
  ProgramDraft result;
  result.metadata.name.text = "test";
  ValueDraft w;
  w.name.text = "w";
  w.bytes = 12 * kMiB;
  w.at = {Location::pinned_host()};
  w.at_places.resize(1);
  result.world.values = {w};
  ProgramStageDraft stage;
  stage.name.text = "one";
  stage.reserve = {{{Location::cuda(0), 6 * kMiB, "workspace"}, {}},
                   {{Location::cuda(0), 2 * kMiB, "outputs"}, {}}};
  stage.enter = {{NamedAction::Verb::ensure, {"w", {}}, Location::cuda(0), {}}};
  stage.produce = {{{"y", {}}, 2 * kMiB, Location::cuda(0), {"outputs", {}}}};
  stage.exit = {{NamedAction::Verb::drop, {"w", {}}, Location::cuda(0), {}}};
  result.stages = {stage};
  return result;
}

std::vector<std::string> codes(const ProgramDraft& checked) {
  std::vector<std::string> result;
  for (const Problem& problem : check(checked).problems) result.push_back(problem.code);
  return result;
}

}  // namespace

TEST_CASE("what a stage produces is a value of later stages, out of the reservation that it names") {
  ProgramDraft d = program_draft();
  ProgramStageDraft second;
  second.name.text = "two";
  second.enter = {{NamedAction::Verb::move, {"y", {}}, Location::pinned_host(), Location::cuda(0)}};
  second.release = {{"y", {}}};
  d.stages.push_back(second);
  const CheckedProgram checked = check(d);
  REQUIRE(checked.program);
  const Program& program = *checked.program;
  REQUIRE(program.world.values.size() == 2);
  CHECK(program.world.values[1].produced_by == 0u);
  REQUIRE(program.stages[0].produce.size() == 1);
  CHECK(program.stages[0].produce[0].value == 1);
  CHECK(program.stages[0].produce[0].from == 1);
  CHECK(program.stages[1].enter[0].value == 1);
  CHECK(program.stages[1].release[0].index == 1);
}

TEST_CASE("what is produced has to fit its reservation, all of it together") {
  ProgramDraft d = program_draft();
  d.stages[0].produce.push_back({{"z", {}}, 1, Location::cuda(0), {"outputs", {}}});
  CHECK(codes(d) == std::vector<std::string>{"FHR0501"});
  d.stages[0].produce[1].from.text = "nowhere";
  CHECK(codes(d) == std::vector<std::string>{"FHR0501"});
  d.stages[0].produce[1].from.text = "workspace";
  CHECK(codes(d).empty());
}

TEST_CASE("only ensures are prefetched, of values that are there before the body") {
  ProgramDraft d = program_draft();
  d.stages[0].prefetch = {{NamedAction::Verb::ensure, {"w", {}}, Location::cuda(0), {}}};
  const CheckedProgram checked = check(d);
  REQUIRE(checked.program);
  CHECK(checked.program->stages[0].prefetch.size() == 1);
  d.stages[0].prefetch[0].verb = NamedAction::Verb::drop;
  CHECK(codes(d) == std::vector<std::string>{"FHR0504"});
  d.stages[0].prefetch = {{NamedAction::Verb::ensure, {"y", {}}, Location::pinned_host(), {}}};
  CHECK(codes(d) == std::vector<std::string>{"FHR0309"});
}

TEST_CASE("a value is used neither before its stage nor after its release") {
  ProgramDraft d = program_draft();
  d.stages[0].enter.push_back({NamedAction::Verb::ensure, {"y", {}}, Location::pinned_host(), {}});
  CHECK(codes(d) == std::vector<std::string>{"FHR0309"});
  d = program_draft();
  d.stages[0].release = {{"w", {}}};
  d.stages.push_back(d.stages[0]);
  d.stages[1].name.text = "two";
  d.stages[1].produce.clear();
  CHECK(codes(d) == std::vector<std::string>{"FHR0309", "FHR0309", "FHR0309"});
}
