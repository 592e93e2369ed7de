#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/verify/checks.hpp>

#include "compile/worlds.hpp"
#include "verify/violations.hpp"

using namespace fheres;
using verify::Verification;
using workload::Program;
using workload::Workload;

namespace {

constexpr const char* kWorkload = R"(
locations: {cuda:0: {budget: 8 KiB}}
policy: {fallback: {cuda:0: [pinned-host]}}
values:
  a: {bytes: 3 KiB, at: pinned-host}
  b: {bytes: 3 KiB, at: pinned-host}
  x: {bytes: 1 KiB, at: cuda:0, replica: exclusive}
stages:
  - {name: s0, require: {cuda:0: [a, x]}, reserve: [{at: cuda:0, bytes: 2 KiB, label: workspace}]}
  - {name: s1, require: {cuda:0: [b]}, reserve: [{at: cuda:0, bytes: 3 KiB, label: workspace}]}
  - {name: s2, require: {cuda:0: [a, b]}, release: [x]}
)";

}  // namespace

TEST_CASE("what the compiler writes is sound, also against the workload that it was compiled from") {
  const Workload workload = test::workload_of(kWorkload);
  const compile::Compiled made = test::compiled(workload);
  const Verification found = verify::check(made.program, &workload);
  CHECK_MESSAGE(found.sound(), all(found));
  CHECK(found.has_evidence);
  CHECK(found.has_workload);
}

TEST_CASE("a plan that is not one of its workload is found out") {
  const Workload workload = test::workload_of(kWorkload);
  struct Case {
    const char* what;
    std::function<void(Program&)> harm;
    const char* code;
  };
  const auto index = [](const Program& p, const char* name) { return *p.world.find(name); };
  const std::vector<Case> cases = {
      {"a value has another size",
       [&](Program& p) { p.world.values[index(p, "a")].spec.logical_bytes -= 256; }, "workload"},
      {"a value starts elsewhere",
       [&](Program& p) { p.world.values[index(p, "a")].at = {workload::Location::pageable_host()}; },
       "workload"},
      {"a value is no longer exclusive",
       [&](Program& p) {
         p.world.values[index(p, "x")].spec.replica_mode = residency::ReplicaMode::replicable;
       },
       "workload"},
      {"a value has another name", [&](Program& p) { p.world.values[index(p, "b")].name.text = "bb"; },
       "workload"},
      {"a stage is missing", [](Program& p) { p.stages.erase(p.stages.begin() + 1); }, "workload"},
      {"a stage is new", [](Program& p) { p.stages.emplace_back().name.text = "s3"; }, "workload"},
      {"a stage has another name", [](Program& p) { p.stages[1].name.text = "other"; }, "workload"},
      {"a reservation is smaller", [](Program& p) { p.stages[1].reserve[0].spec.bytes -= 1; }, "workload"},
      {"nothing is released", [](Program& p) { p.stages[2].release.clear(); }, "workload"},
      {"too much is released",
       [&](Program& p) {
         p.stages[2].release.push_back({workload::Operand::From::value, index(p, "b"), {}});
       },
       "workload"},
      {"what a body needs is not brought, and the plan does not say that it needs it",
       [](Program& p) {
         p.stages[0].enter.clear();
         for (auto& stage : p.stages) stage.require.clear();
       },
       "R29"},
  };
  for (const Case& item : cases) {
    Program program = test::compiled(workload).program;
    item.harm(program);
    const Verification found = verify::check(program, &workload);
    bool seen = false;
    for (const auto& violation : found.violations) seen = seen || verify::code(violation) == item.code;
    CHECK_MESSAGE(seen, item.what << ": found\n" << all(found));
  }
}

TEST_CASE("all shipped plans that fit are sound") {
  const documents::Loaded loaded = documents::load("plans/two-tiles.yaml");
  REQUIRE(loaded.model.has_value());
  const Verification found = verify::check(std::get<Program>(*loaded.model));
  CHECK_MESSAGE(found.sound(), all(found));
}
