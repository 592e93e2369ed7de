#include <fheres/workload/rehearsal.hpp>

#include "worlds.hpp"

using namespace fheres;
using test::compiled;
using test::workload_of;

namespace {

/// Three keys in turn, where two fit: what is needed last goes first.
constexpr const char* kTurns = R"(
locations: {cuda:0: {budget: 20 MiB}}
values:
  a: {bytes: 10 MiB, at: pinned-host}
  b: {bytes: 10 MiB, at: pinned-host}
  c: {bytes: 10 MiB, at: pinned-host}
stages:
  - {name: s0, require: {cuda:0: [a]}}
  - {name: s1, require: {cuda:0: [b]}}
  - {name: s2, require: {cuda:0: [c]}}
  - {name: s3, require: {cuda:0: [a]}}
  - {name: s4, require: {cuda:0: [b]}}
  - {name: s5, require: {cuda:0: [c]}}
)";

}  // namespace

TEST_CASE("a plan keeps what is needed soonest, and says that no plan moves less") {
  const compile::Compiled made = compiled(workload_of(kTurns));
  CHECK(made.program.evidence->moved_bytes ==
        40 * kMiB);  // in turn, LRU would bring every key every time: 60
  CHECK(made.program.evidence->optimal());
  const workload::Rehearsal rehearsal = workload::rehearse(made.program);
  CHECK(rehearsal.answer == workload::Answer::feasible);
  CHECK(rehearsal.moved_bytes == made.program.evidence->moved_bytes);
}

TEST_CASE("where everything fits, each value comes once") {
  workload::Workload workload = workload_of(kTurns);
  workload.world.set_budget(memory::Location::cuda(0), 30 * kMiB);
  const compile::Compiled made = compiled(workload);
  CHECK(made.program.evidence->moved_bytes == 30 * kMiB);
  CHECK(made.program.evidence->optimal());
  // Whoever found the plan: it asks for nothing that is there.
  for (const workload::StageRehearsal& stage : workload::rehearse(made.program).stages)
    for (const residency::ActionExplanation& action : stage.explanation.actions) CHECK_FALSE(action.no_op);
}

TEST_CASE("what cannot hold together is named at its lines, and nothing that could be left out") {
  const workload::Workload workload = workload_of(R"(
locations: {cuda:0: {budget: 10 MiB}}
values:
  small: {bytes: 1 MiB, at: pinned-host}
  large: {bytes: 8 MiB, at: pinned-host}
stages:
  - {name: fits, require: {cuda:0: [small]}}
  - name: does-not
    require: {cuda:0: [small, large]}
    reserve: [{at: cuda:0, bytes: 3 MiB, label: workspace}]
)");
  const compile::Outcome outcome = compile::compile(workload);
  const auto* no = std::get_if<compile::Infeasible>(&outcome);
  REQUIRE(no != nullptr);
  CHECK(no->stage == "does-not");
  CHECK(no->short_by == 2 * kMiB);
  REQUIRE(no->lines.size() == 3);
  CHECK(no->lines[0].kind == compile::Line::Kind::budget);
  CHECK(no->lines[0].place.line == 5);
  CHECK(no->lines[1].name == "workspace");
  CHECK(no->lines[2].name == "large");
  CHECK(no->lines[2].place.line == 12);
}

TEST_CASE("only copies whose tiers are too small themselves are infeasible by the sum over all of them") {
  const std::string text = R"(
locations: {pageable-host: {budget: 16 MiB}, pinned-host: {budget: 7 MiB}, cuda:0: {budget: 24 MiB}}
policy: {fallback: {cuda:0: [pinned-host, pageable-host]}}
values:
  table: {bytes: 14 MiB, at: pageable-host}
  a: {bytes: 12 MiB, at: cuda:0}
  b: {bytes: 12 MiB, at: cuda:0, replica: exclusive}
  c: {bytes: 6 MiB, at: pinned-host}
stages:
  - {name: first, require: {cuda:0: [a, b]}}
  - name: second
    require: {cuda:0: [table, c]}
    reserve: [{at: cuda:0, bytes: 4 MiB, label: workspace}]
)";
  const compile::Outcome outcome = compile::compile(workload_of(text));
  const auto* no = std::get_if<compile::Infeasible>(&outcome);
  REQUIRE(no != nullptr);
  CHECK(no->stage == "second");
  CHECK(no->at == memory::Location::cuda(0));
  CHECK(no->budget == 47 * kMiB);
  CHECK(no->short_by == 1 * kMiB);
  REQUIRE(no->lines.size() == 8);
  for (const std::size_t budget : {0, 1, 2}) CHECK(no->lines[budget].kind == compile::Line::Kind::budget);
  CHECK(no->lines[7].kind == compile::Line::Kind::confined);
  CHECK(no->lines[7].name == "b");
  CHECK(no->lines[7].place.line == 10);
  workload::Workload enough = workload_of(text);
  enough.world.set_budget(memory::Location::pageable_host(), 40 * kMiB);
  CHECK(compiled(enough).program.evidence->moved_bytes >= (12 + 12 + 14 + 6) * kMiB);
}

TEST_CASE("an only copy goes to the policy's first tier with room, and comes back") {
  const workload::Workload workload = workload_of(R"(
locations: {pinned-host: {budget: 4 MiB}, cuda:0: {budget: 10 MiB}}
policy: {fallback: {cuda:0: [pinned-host, pageable-host]}}
values:
  x: {bytes: 6 MiB, at: cuda:0, replica: exclusive}
  w: {bytes: 8 MiB, at: pageable-host}
stages:
  - {name: s0, require: {cuda:0: [x]}}
  - {name: s1, require: {cuda:0: [w]}}
  - {name: s2, require: {cuda:0: [x]}}
)");
  const compile::Compiled made = compiled(workload);
  CHECK(made.program.evidence->moved_bytes == (6 + 8 + 6) * kMiB);
  CHECK(made.program.evidence->optimal());
}

TEST_CASE("equal workloads give equal plans") {
  const std::string once = documents::emit(compiled(workload_of(kTurns)).program);
  CHECK(once == documents::emit(compiled(workload_of(kTurns)).program));
}
