#include <doctest/doctest.h>

#include <fheres/workload/planned.hpp>

#include "support/program_of.hpp"

using namespace fheres;
using namespace fheres::workload;
using Verb = NamedAction::Verb;

namespace {

const Location kDevice = Location::cuda(0), kHost = Location::pinned_host();

/// Two opaque values that one stage after the other wants, under a budget for one of them.
Workload two_stages() {
  Workload workload;
  workload.metadata.name.text = "two";
  workload.world.locations = {{kDevice, 4 * kGranule, {}}};
  workload.world.policy.fallback[kDevice] = {kHost};
  for (const char* name : {"a", "b"}) {
    Value value;
    value.name.text = name;
    value.spec = make_bytes_spec(name, 4 * kGranule, residency::ReplicaMode::replicable);
    value.at = {kHost};
    workload.world.values.push_back(value);
  }
  for (ValueIndex v = 0; v < 2; ++v) {
    Stage stage;
    stage.name.text = v == 0 ? "first" : "second";
    stage.require = {{v, kDevice, {}}};
    workload.stages.push_back(stage);
  }
  return workload;
}

std::string only_problem(const Workload& workload, const Program& program) {
  const Planned planned = follow(workload, program);
  CHECK(!planned.workload);
  REQUIRE(planned.problems.size() == 1);
  CHECK(planned.problems[0].code == "FHR0522");
  return planned.problems[0].message;
}

}  // namespace

TEST_CASE("a workload that follows a program does what the program does, under the program's budgets") {
  const Workload workload = two_stages();
  Program program = fheres::test::program_of(workload);
  program.world.locations[0].budget = 6 * kGranule;
  const Planned planned = follow(workload, program);
  REQUIRE(planned.workload);
  CHECK(planned.workload->world.budgets().at(kDevice) == 6 * kGranule);
  const Rehearsal of_program = rehearse(program), of_workload = rehearse(*planned.workload);
  CHECK(of_workload.answer == Answer::feasible);
  CHECK(of_workload.moved_bytes == of_program.moved_bytes);
  REQUIRE(of_workload.stages.size() == 2);
  for (const StageRehearsal& stage : of_workload.stages) CHECK(!stage.decision);
  CHECK(of_workload.stages[1].explanation.actions.size() == of_program.stages[1].explanation.actions.size());
}

TEST_CASE("values are found by name, in whatever order the program has them") {
  const Workload workload = two_stages();
  Program program = fheres::test::program_of(workload);
  std::swap(program.world.values[0], program.world.values[1]);
  for (ProgramStage& stage : program.stages)
    for (auto* list : {&stage.reclaim, &stage.enter, &stage.prefetch, &stage.exit})
      for (NamedAction& action : *list) action.value = 1 - action.value;
  const Planned planned = follow(workload, program);
  REQUIRE(planned.workload);
  CHECK(planned.workload->stages[0].plan->enter[0].value == 0);
}

TEST_CASE("a program of another workload is refused, and says what differs") {
  const Workload workload = two_stages();
  const Program good = fheres::test::program_of(workload);
  Program program = good;
  program.world.values[1].spec.storage_bytes = 8 * kGranule;
  CHECK(only_problem(workload, program) ==
        "`b` takes 2048 B (2 KiB) here, and 1024 B (1 KiB) in the workload");
  program = good;
  program.world.values[1].at = {kDevice};
  CHECK(only_problem(workload, program) == "`b` starts at cuda:0 here, and pinned-host in the workload");
  program = good;
  program.world.values[0].spec.replica_mode = residency::ReplicaMode::exclusive;
  CHECK(only_problem(workload, program) == "`a` is exclusive here, and replicable in the workload");
  program = good;
  program.stages.pop_back();
  CHECK(only_problem(workload, program) == "the plan has 1 stages, and the workload 2");
  program = good;
  program.stages[1].name.text = "other";
  CHECK(only_problem(workload, program) == "stage 2 is `other` here, and `second` in the workload");
  Workload more = workload;
  more.world.values.push_back(more.world.values[0]);
  more.world.values.back().name.text = "c";
  CHECK(only_problem(more, good) == "the plan has no value `c`, which the workload has");
  program = good;
  program.world.values[0].name.text = "z";
  CHECK(follow(workload, program).problems.size() == 2);
}
