// rotate_many, linear_transform and compact plaintexts in workloads: types, keys, bytes, layout and refusals.
#include <fheres/scheme/presets.hpp>
#include <fheres/scheme/rotations.hpp>
#include <fheres/scheme/sizes.hpp>
#include <fheres/workload/estimate.hpp>

#include "workload/drafts.hpp"

using namespace fheres;
using namespace fheres::workload;
using namespace fheres::workload::test;

namespace {

using Texts = std::vector<std::string>;

/// x, four diagonals, rotation keys for 1, 2 and 4 steps, a conjugation key.
WorkloadDraft transform_draft() {
  WorkloadDraft result;
  result.metadata.name.text = "test";
  result.world.parameters = ParametersDraft{*scheme::find_preset("test-slots512-scale40-levels4"), {}};
  result.world.values = {value("x", ValueKind::ciphertext), value("conj", ValueKind::conjugation_key)};
  for (const int steps : {1, 2, 4})
    result.world.values.push_back(rotation_key("rot" + std::to_string(steps), steps));
  for (const int index : {0, 1, 2, 5})
    result.world.values.push_back(value("d" + std::to_string(index), ValueKind::plaintext));
  return result;
}

std::vector<OperationDraft> rotate_many(const std::string& operand,
                                        const std::vector<std::pair<std::string, std::string>>& results) {
  std::vector<OperationDraft> body;
  for (const auto& [result, key] : results) {
    body.push_back(operation(result, "rotate_many", {operand}, key));
    body.back().turn = body.size() - 1;
  }
  return body;
}

OperationDraft transform(const std::string& result, const std::string& operand,
                         const std::vector<std::pair<int, std::string>>& diagonals, int baby_steps) {
  OperationDraft draft = operation(result, "linear_transform", {operand});
  for (const auto& [index, name] : diagonals) draft.diagonals.push_back({index, {name, {}}});
  draft.baby_steps = baby_steps;
  return draft;
}

Bytes bytes(const Workload& workload, const char* name) {
  return workload.world.values[*workload.world.find(name)].spec.logical_bytes;
}

}  // namespace

TEST_CASE("rotate_many is a rotation for each result, with the workspace of all with the first") {
  WorkloadDraft d = transform_draft();
  std::vector<OperationDraft> body = rotate_many("x", {{"a", "rot1"}, {"b", "conj"}, {"c", "rot4"}});
  body.push_back(operation("s", "add", {"a", "c"}));
  d.stages = {stage("one", body, {"b", "s"})};
  const Workload workload = good(d);
  const scheme::Parameters& parameters = *workload.world.parameters;
  const Stage& one = workload.stages[0];
  REQUIRE(one.body.size() == 4);
  CHECK(name(one.body[0]) == "rotate_many");
  CHECK(one.body[1].operation == scheme::Operation::conjugate);
  CHECK(one.body[2].turns->first == 0);
  CHECK(one.body[2].turns->count == 3);
  CHECK(one.body[0].scratch_bytes == scheme::hoisted_workspace(parameters, 0, 3, 0));
  CHECK(one.body[1].scratch_bytes == 0);
  CHECK(one.body[2].scratch_bytes == 0);
  CHECK(one.input_count == 4);
  // a and c live while the operation works; b and s are outputs, with blocks of their own.
  const Bytes ciphertext = bytes(workload, "x");
  CHECK(one.layout.workspace_bytes == one.body[0].scratch_bytes + 2 * ciphertext);
  CHECK(one.layout.outputs_bytes() == 2 * ciphertext);
}

TEST_CASE("all results of rotate_many stand before it is done, so the last one is nobody's room") {
  // Without a reader of its own, each result and the scratch still need places that do not overlap.
  std::vector<LayoutStep> steps(3);
  for (std::size_t i = 0; i < 3; ++i) steps[i].result_bytes = kMiB;
  steps[0].scratch_bytes = 4 * kMiB;
  steps[1].with = 0;
  steps[2].with = 0;
  const BodyLayout layout = lay_out(steps, 0);
  CHECK(layout.workspace_bytes == 7 * kMiB);
}

TEST_CASE("a result of rotate_many is no operand of another one of the same operation") {
  WorkloadDraft d = transform_draft();
  std::vector<OperationDraft> body = rotate_many("x", {{"a", "rot1"}, {"b", "rot2"}});
  body[1].operands[0].text = "a";
  d.stages = {stage("one", body, {"b"})};
  CHECK(problems(d) == Texts{"FHR0309: `a` is used before it is made"});
}

TEST_CASE("rotate_many without results is told how to write them") {
  WorkloadDraft d = transform_draft();
  d.stages = {stage("one", {operation("a", "rotate_many", {"x"}, "rot1")}, {"a"})};
  CHECK(problems(d) == Texts{"FHR0402: `rotate_many` gives several results, and one is named"});
}

TEST_CASE(
    "the keys of rotate_many are made at the level where it runs, and refused where they do not serve it") {
  WorkloadDraft d = transform_draft();
  std::vector<OperationDraft> body{operation("p", "multiply_plain", {"x", "d0"}),
                                   operation("q", "rescale", {"p"})};
  for (const OperationDraft& turn : rotate_many("q", {{"a", "rot1"}, {"b", "rot2"}})) body.push_back(turn);
  d.stages = {stage("one", body, {"a", "b"})};
  CHECK(good(d).world.values[2].type->level == 1);
  d.world.values[2].level = 2;
  const Texts found = problems(d);
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("FHR0404: rotate: operand 1 has level 1, and the key serves levels 2 to 4"));
}

TEST_CASE("linear_transform finds its keys, orders its diagonals, and needs what scheme says") {
  WorkloadDraft d = transform_draft();
  // 5 = 4 + 1: the baby steps 0, 1, 2 and the giant steps 0, 4.
  d.stages = {stage("one", {transform("y", "x", {{5, "d5"}, {0, "d0"}, {2, "d2"}, {1, "d1"}}, 4)}, {"y"})};
  const Workload workload = good(d);
  const scheme::Parameters& parameters = *workload.world.parameters;
  const BodyOperation& step = workload.stages[0].body[0];
  CHECK(name(step) == "linear_transform");
  Texts operands, keys;
  for (const Operand& operand : step.operands)
    operands.push_back(workload.world.values[operand.index].name.text);
  for (const Operand& key : step.keys) keys.push_back(workload.world.values[key.index].name.text);
  CHECK(operands == Texts{"x", "d0", "d1", "d2", "d5"});
  CHECK(keys == Texts{"rot1", "rot2", "rot4"});
  const int u = parameters.limbs(0) + parameters.special_limbs();
  const auto limb = static_cast<Bytes>(8 * parameters.n());
  CHECK(bytes(workload, "d5") == static_cast<Bytes>(u) * limb);
  CHECK(workload.world.values[*workload.world.find("d5")].turned_back == 4);
  CHECK(workload.world.values[*workload.world.find("d2")].turned_back == 0);
  CHECK(step.scratch_bytes ==
        static_cast<Bytes>(std::max(parameters.digits(0) * u, 2 * parameters.limbs(0)) + 2 * 3 * u + 4 * u) *
            limb);
  CHECK(workload.stages[0].layout.workspace_bytes == step.scratch_bytes);
  CHECK(workload.stages[0].input_count == 8);
  const auto all = estimates(workload);
  CHECK(all[*workload.world.find("y")]->magnitude == doctest::Approx(4 * 0.5 * 0.5));
  CHECK(all[*workload.world.find("y")]->deviation > 0);
}

TEST_CASE(
    "a linear transform refuses diagonals that stand twice, have no key, or are encoded for another use") {
  WorkloadDraft d = transform_draft();
  d.stages = {stage("one", {transform("y", "x", {{0, "d0"}, {512, "d1"}}, 4)}, {"y"})};
  CHECK(problems(d) == Texts{"FHR0409: diagonal 0 of 512 stands twice"});

  d = transform_draft();
  d.stages = {stage("one", {transform("y", "x", {{3, "d0"}, {9, "d1"}}, 4)}, {"y"})};
  CHECK(problems(d) == Texts{"FHR0403: no rotation keys for 3, 8 steps are among the values"});

  d = transform_draft();
  d.stages = {stage("one", {transform("y", "x", {{1, "d0"}, {5, "d0"}}, 4)}, {"y"})};
  CHECK(problems(d) ==
        Texts{"FHR0409: `d0` is a diagonal of the giant step 4 here and a diagonal of the giant "
              "step 0, and is encoded for one of them"});

  d = transform_draft();
  d.stages = {stage(
      "one", {operation("p", "multiply_plain", {"x", "d1"}), transform("y", "x", {{1, "d1"}}, 4)}, {"y"})};
  CHECK(problems(d) ==
        Texts{"FHR0409: `d1` is a diagonal of the giant step 0 here and no diagonal, and is encoded "
              "for one of them"});

  d = transform_draft();
  d.stages = {stage("one", {operation("y", "linear_transform", {"x"})}, {"y"})};
  CHECK(problems(d) == Texts{"FHR0402: `linear_transform` has no diagonals"});

  d = transform_draft();
  d.stages = {stage("one", {transform("y", "x", {{1, "rot1"}}, 4)}, {"y"})};
  CHECK(problems(d) == Texts{"FHR0303: `rot1` is a rotation key, expected a plaintext"});
}

TEST_CASE("R66: a compact plaintext is a value of one word a coefficient, and one that is expanded from it") {
  WorkloadDraft d = transform_draft();
  for (ValueDraft& item : d.world.values) item.compact = item.kind == ValueKind::plaintext;
  d.stages = {stage("one", {transform("t", "x", {{0, "d0"}, {5, "d5"}}, 4)}, {"t"}),
              stage("two", {operation("p", "multiply_plain", {"x", "d1"})}, {"p"})};
  const Workload workload = good(d);
  const World& world = workload.world;
  const auto limb = static_cast<Bytes>(8 * world.parameters->n());
  for (const char* name : {"d0.compact", "d1.compact", "d2.compact", "d5.compact"}) {
    CAPTURE(name);
    CHECK(bytes(workload, name) == limb);
  }
  const Value& d5 = world.values[*world.find("d5")];
  CHECK(d5.at.empty());
  CHECK(d5.spec.recoverability == residency::Recoverability::reconstructible);
  CHECK(world.values[*d5.backing].name.text == "d5.compact");
  CHECK(world.values[*d5.backing].turned_back == 4);
  CHECK(world.values[*d5.backing].at == std::vector<Location>{Location::pageable_host()});
  CHECK(d5.type->plaintext_form == scheme::PlaintextForm::prepared_qp);
  CHECK(world.values[*world.find("d1")].type->plaintext_form == scheme::PlaintextForm::prepared);

  d.stages[0].body[0].diagonals[0].value.text = "d0.compact";
  CHECK(problems(d) ==
        Texts{"FHR0303: `d0.compact` is the compact form of a plaintext, expected `d0` itself"});
}

TEST_CASE("a plaintext that needs more than a word is not compact") {
  WorkloadDraft d = transform_draft();
  d.world.values.push_back(value("bias", ValueKind::plaintext));
  d.world.values.back().for_addition = true;
  d.world.values.back().compact = true;
  d.stages = {stage(
      "one", {operation("p", "multiply_plain", {"x", "d0"}), operation("s", "add_plain", {"p", "bias"})},
      {"s"})};
  const Texts found = problems(d);
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("FHR0306: `bias` reaches 80 bits at scale "));
}

TEST_CASE("an output that need not be checked says so") {
  WorkloadDraft d = transform_draft();
  d.stages = {stage("one", rotate_many("x", {{"a", "rot1"}, {"b", "rot2"}}), {"a", "b"})};
  d.stages[0].unchecked = {"a"};
  const Workload workload = good(d);
  CHECK_FALSE(workload.stages[0].outputs[0].checked);
  CHECK(workload.stages[0].outputs[1].checked);
}
