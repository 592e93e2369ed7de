#include <algorithm>
#include <stdexcept>

#include <fheres/scheme/sizes.hpp>
#include <fheres/workload/program.hpp>
#include <fheres/workload/variants.hpp>

#include "drafts.hpp"

using namespace fheres;
using namespace fheres::workload;
using namespace fheres::workload::test;

namespace {

/// Two rotations with one key, at levels 0 and 1.
WorkloadDraft two_levels() {
  WorkloadDraft draft;
  draft.metadata.name.text = "two";
  scheme::ParametersLiteral literal;
  literal.log_n = 10;
  literal.q = {{60, {}}, {40, {}}, {40, {}}};
  literal.p = {{60, {}}};
  literal.scale_bits = 40;
  literal.security = scheme::SecurityTable::none;
  draft.world.parameters = ParametersDraft{literal, {}};
  draft.world.values = {value("x", ValueKind::ciphertext), rotation_key("k", 1),
                        value("w", ValueKind::plaintext)};
  draft.stages = {
      stage("first", {operation("a", "rotate", {"x"}, "k"), operation("b", "mod_switch", {"a"})}, {"b"}),
      stage("second", {operation("c", "rotate", {"b"}, "k"), operation("d", "multiply_plain", {"c", "w"})},
            {"d"})};
  return draft;
}

const Value& named(const Workload& workload, const std::string& name) {
  const auto found = workload.world.find(name);
  REQUIRE(found);
  return workload.world.values[*found];
}

std::vector<std::string> variants(const Workload& workload, const std::string& name) {
  for (const Question& question : workload.questions)
    if (question.name.text == name) return question.variants;
  return {};
}

Selection first(const Workload& workload) { return Selection(workload.questions.size(), 0); }

}  // namespace

TEST_CASE("what is not left open is no question, and nothing is kept of the draft") {
  const Workload workload = good(two_levels());
  CHECK(workload.questions.empty());
  CHECK(workload.open == nullptr);
  CHECK(named(workload, "k").variant.empty());
  CHECK(select(workload, Selection{}).world.values.size() == workload.world.values.size());
}

TEST_CASE("a key that is left open is full first, and seeded or one for each level where that is selected") {
  WorkloadDraft draft = two_levels();
  draft.world.values[1].choose_form = draft.world.values[1].choose_level = true;
  const Workload workload = good(draft);
  CHECK(variants(workload, "k") ==
        std::vector<std::string>{"full", "seeded", "full-by-level", "seeded-by-level", "seeded-there"});
  CHECK(named(workload, "k").variant == "full");
  CHECK(!workload.world.find("k.seeded"));
  const scheme::Parameters& parameters = *workload.world.parameters;
  const auto bytes = [&](int level) {
    return scheme::bytes_of(parameters, scheme::rotation_key_type(parameters, 1, level));
  };
  const Workload seeded = select(workload, {1});
  REQUIRE(named(seeded, "k").backing);
  CHECK(named(seeded, "k.seeded").spec.logical_bytes == bytes(0) / 2 + 32);
  CHECK(named(seeded, "k.seeded").question == 0u);
  CHECK(named(seeded, "k").variant == "seeded");

  const Workload cut = select(workload, {2});
  CHECK(named(cut, "k").spec.logical_bytes == bytes(0));
  CHECK(named(cut, "k.level-1").spec.logical_bytes == bytes(1));
  CHECK(named(cut, "k.level-1").question == 0u);
  CHECK(cut.world.values[cut.stages[1].body[0].key->index].name.text == "k.level-1");
  CHECK(cut.world.values[cut.stages[0].body[0].key->index].name.text == "k");
  const Workload there = select(workload, {4});
  for (const Stage& stage : there.stages) {
    const auto half = there.world.find("k.seeded");
    CHECK(std::any_of(stage.require.begin(), stage.require.end(),
                      [&](const Requirement& item) { return item.value == half && item.at == stage.at; }));
  }
  const Workload both = select(cut, {3});
  CHECK(named(both, "k.level-1.seeded").spec.logical_bytes == bytes(1) / 2 + 32);
}

TEST_CASE("what a key says itself is not asked about") {
  WorkloadDraft draft = two_levels();
  draft.world.values[1].choose_level = true;
  draft.world.values[1].level = 0;
  CHECK(good(draft).questions.empty());
  draft.world.values[1].level.reset();
  draft.world.values[1].seeded = true;
  CHECK(variants(good(draft), "k") == std::vector<std::string>{"seeded", "seeded-by-level"});
  // A name that a variant would need is somebody else's.
  draft.world.values.push_back(rotation_key("k.level-1", 2));
  CHECK(good(draft).questions.empty());
}

TEST_CASE("a plaintext may be compact where one word holds it, or encoded each time") {
  WorkloadDraft draft = two_levels();
  draft.world.values[2].choose_form = true;
  const Workload workload = good(draft);
  CHECK(variants(workload, "w") == std::vector<std::string>{"prepared", "compact", "encoded"});
  CHECK(named(select(workload, {1}), "w.compact").spec.logical_bytes == 8192);
  const Workload encoded = select(workload, {2});
  CHECK(named(encoded, "w").source == Location::pageable_host());
  CHECK(named(encoded, "w").at.empty());
  CHECK(named(encoded, "w").spec.recoverability == residency::Recoverability::reconstructible);
  draft.world.values[2].source = Location::pageable_host();
  CHECK(good(draft).questions.empty());
}

TEST_CASE("groups of output limbs are offered where they need less workspace, which is exactly reserved") {
  WorkloadDraft draft = two_levels();
  for (StageDraft& stage : draft.stages) stage.choose_key_switch = true;
  const Workload workload = good(draft);
  CHECK(variants(workload, "first") == std::vector<std::string>{"whole", "groups-of-2", "groups-of-1"});
  const scheme::Parameters& parameters = *workload.world.parameters;
  const Workload grouped = select(workload, {2, 0});
  CHECK(grouped.stages[0].key_switch_group == 1);
  CHECK(grouped.stages[0].body[0].scratch_bytes == scheme::key_switch_workspace(parameters, 0, 1));
  CHECK(grouped.stages[0].variant == "groups-of-1");
  CHECK(grouped.stages[1].key_switch_group == 0);
  CHECK(grouped.stages[1].variant == "whole");
  CHECK(grouped.stages[0].reserve.back().spec.bytes < workload.stages[0].reserve.back().spec.bytes);
}

TEST_CASE("a selection keeps budgets and policy, and has to answer every question") {
  WorkloadDraft draft = two_levels();
  draft.world.values[1].choose_form = true;
  Workload workload = good(draft);
  workload.world.set_budget(Location::cuda(0), 123 * kGranule);
  workload.world.policy.fallback[Location::cuda(0)] = {Location::pinned_host()};
  const Workload seeded = select(workload, {1});
  CHECK(seeded.world.budgets() == workload.world.budgets());
  CHECK(seeded.world.policy.fallback == workload.world.policy.fallback);
  CHECK(select(seeded, first(seeded)).world.values.size() == workload.world.values.size());
  CHECK_THROWS_AS(select(workload, Selection{}), std::invalid_argument);
  CHECK_THROWS_AS(select(workload, {3}), std::invalid_argument);
}

TEST_CASE("a program's variants select the workload's, and one that is not there is a problem at its line") {
  WorkloadDraft draft = two_levels();
  draft.world.values[1].choose_form = true;
  const Workload workload = good(draft);
  Program program;
  program.world.values.push_back(named(workload, "k"));
  program.world.values[0].variant = "seeded";
  Selected selected = select(workload, program);
  REQUIRE(selected.workload);
  CHECK(selected.workload->world.find("k.seeded"));
  program.world.values[0].variant = "compact";
  program.world.values[0].name.place = {"plan.yaml", 7, 3, 1};
  selected = select(workload, program);
  REQUIRE(selected.problems.size() == 1);
  CHECK(selected.problems[0].code == "FHR0523");
  CHECK(selected.problems[0].place.line == 7);
  CHECK(selected.problems[0].message ==
        "`k` has the variant `compact` here, and in the workload it can be full, seeded, seeded-there");
  program.world.values[0].variant.clear();
  program.stages.emplace_back().name.text = "first";
  program.stages[0].variant = "groups-of-2";
  selected = select(workload, program);
  REQUIRE(selected.problems.size() == 1);
  CHECK(selected.problems[0].message ==
        "stage `first` has the variant `groups-of-2` here, and the workload leaves nothing to choose");
}
