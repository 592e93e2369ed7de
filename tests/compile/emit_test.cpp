#include <fheres/documents/emit.hpp>

#include "worlds.hpp"

using namespace fheres;
using test::compiled;
using test::workload_of;

namespace {

workload::Program read_back(const std::string& text) {
  documents::Loaded loaded = documents::load_text(text, "plan.yaml", ".");
  for (const auto& problem : loaded.diagnostics) FAIL(documents::render(problem, loaded.sources));
  return std::get<workload::Program>(std::move(*loaded.model));
}

}  // namespace

TEST_CASE("a plan that was written is read back as it was") {
  workload::Workload workload = workload_of(R"(
locations: {pinned-host: {}, cuda:0: {budget: 20 MiB}, cuda:1: {budget: 20 MiB}}
machine: {peers: [[cuda:0, cuda:1]]}
policy: {fallback: {cuda:0: [pinned-host]}}
values:
  "true": {bytes: 5 MiB, at: [pinned-host, cuda:0]}
  "7": {bytes: 300, at: cuda:0, replica: exclusive}
  né: {bytes: 9 MiB, at: pageable-host}
stages:
  - {name: "1", require: {cuda:0: ["true"], cuda:1: [né]}, reserve: [{at: cuda:0, bytes: 1 MiB, label: "work \"space\""}]}
  - {name: two, require: {cuda:0: ["7", né]}, release: ["true"]}
)");
  workload.world.values[2].source = memory::Location::pageable_host();
  workload.world.values[2].spec.recoverability = residency::Recoverability::reconstructible;
  workload::Program program = compiled(workload).program;
  program.workload = workload::WorkloadReference{"a folder/tiles.yaml", std::string(64, 'a'), {}};
  program.metadata.description = "two\nlines: \"quoted\"";
  program.evidence->time = workload::TimeEvidence{"h200", 12, 10};
  const std::string text = documents::emit(program, "schema/plan.schema.json");
  const workload::Program again = read_back(text);
  CHECK(documents::emit(again, "schema/plan.schema.json") == text);
  CHECK(again.metadata.description == program.metadata.description);
  REQUIRE(again.evidence);
  CHECK(again.evidence->moved_bytes == program.evidence->moved_bytes);
  CHECK(again.evidence->time == program.evidence->time);
  CHECK(again.world.values[2].source == memory::Location::pageable_host());
  CHECK(again.world.peers.size() == 1);
  CHECK(again.stages[0].require.size() == 2);
}

TEST_CASE("a plan says what a seeded key is expanded from") {
  const workload::Workload workload = workload_of(R"(
parameters: {preset: slots8192-scale40-levels7}
locations: {cuda:0: {budget: 64 MiB}}
values:
  x: {ciphertext: {message: {constant: 0.5}}, at: pinned-host}
  rot1: {rotation_key: {steps: 1, form: seeded}, at: pinned-host}
stages:
  - {name: turn, at: cuda:0, body: [{y: {rotate: x, key: rot1}}], outputs: {y: {}}}
)");
  const compile::Compiled made = compiled(workload);
  const workload::Program again = read_back(documents::emit(made.program));
  const auto key = again.world.find("rot1");
  REQUIRE(key);
  CHECK(again.world.values[*key].backing == again.world.find("rot1.seeded"));
  CHECK(again.world.values[*key].at.empty());
  CHECK(made.program.evidence->optimal());
  CHECK(again.stages[0].workspace.size() == 1);
}

TEST_CASE("a backing that nothing can be expanded from is reported") {
  const auto code = [](const std::string& values) {
    const documents::Loaded loaded =
        documents::load_text("apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: p}\nvalues: {" + values +
                                 "}\nstages: [{name: s}]\n",
                             "plan.yaml", ".");
    return loaded.diagnostics.empty() ? std::string() : loaded.diagnostics.front().code;
  };
  CHECK(code("s: {bytes: 1 KiB, at: pinned-host}, k: {bytes: 2 KiB, backing: s}") == "");
  CHECK(code("k: {bytes: 2 KiB, backing: k}") == "FHR0505");
  CHECK(code("s: {bytes: 1 KiB, source: {at: pinned-host}}, k: {bytes: 2 KiB, backing: s}") == "FHR0505");
  CHECK(code("k: {bytes: 2 KiB, backing: nobody}") == "FHR0301");
}
