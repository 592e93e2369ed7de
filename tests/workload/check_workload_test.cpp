#include <algorithm>

#include <fheres/scheme/presets.hpp>

#include "workload/drafts.hpp"

using namespace fheres;
using namespace fheres::workload;
using namespace fheres::workload::test;

namespace {

/// x, a plaintext, a rotation key; the last level but `levels` left.
WorkloadDraft draft() {
  WorkloadDraft result;
  result.metadata.name.text = "test";
  result.world.parameters = ParametersDraft{*scheme::find_preset("test-slots512-scale40-levels4"), {}};
  result.world.values = {value("x", ValueKind::ciphertext), value("w", ValueKind::plaintext),
                         value("rot1", ValueKind::rotation_key),
                         value("relin", ValueKind::relinearization_key)};
  return result;
}

std::vector<std::string> codes(const WorkloadDraft& checked) {
  std::vector<std::string> result;
  for (const Problem& problem : check(checked).problems) result.push_back(problem.code);
  return result;
}

}  // namespace

TEST_CASE("types, bytes and levels follow along the stages, through kept outputs") {
  WorkloadDraft d = draft();
  d.stages = {
      stage("one", {operation("p", "multiply_plain", {"x", "w"}), operation("y", "rescale", {"p"})}, {"y"}),
      stage("two", {operation("r", "rotate", {"y"}, "rot1"), operation("z", "negate", {"r"})}, {"z"})};
  const Workload workload = good(d);
  const World& world = workload.world;
  REQUIRE(world.values.size() == 6);
  CHECK(world.values[4].name.text == "y");
  CHECK(world.values[4].produced_by == 0u);
  CHECK(world.values[4].at.empty());
  CHECK(world.values[4].type->level == 1);
  CHECK(world.values[4].type->scale == world.parameters->canonical_scale(1));
  CHECK(world.values[4].spec.logical_bytes == 2 * 4 * 8 * 1024);
  CHECK(world.values[4].spec.type == "ckks.ciphertext");
  CHECK(world.values[4].spec.recoverability == residency::Recoverability::must_preserve);
  CHECK(scheme::decode_metadata(*world.parameters, world.values[5].spec.metadata) == *world.values[5].type);
  // The key is used at level 1 only, so it has a limb less in each digit, and a digit less.
  CHECK(world.values[2].type->level == 1);
  CHECK(world.values[1].type->level == 0);
  // A key that nobody uses is a fresh one.
  CHECK(world.values[3].type->level == 0);
  CHECK(world.find("z") == 5u);
}

TEST_CASE("a key and a plaintext are made for the freshest level where they are used") {
  WorkloadDraft d = draft();
  d.stages = {stage("one",
                    {operation("p", "multiply_plain", {"x", "w"}), operation("a", "rescale", {"p"}),
                     operation("b", "rotate", {"a"}, "rot1"), operation("c", "rotate", {"x"}, "rot1")},
                    {})};
  CHECK(good(d).world.values[2].type->level == 0);
  d.world.values[2].level = 1;
  CHECK(codes(d) == std::vector<std::string>{"FHR0404"});
}

TEST_CASE("a plaintext for a sum takes the scale of what it is added to") {
  WorkloadDraft d = draft();
  d.world.values.push_back(value("bias", ValueKind::plaintext));
  d.stages = {stage(
      "one", {operation("p", "multiply_plain", {"x", "w"}), operation("s", "add_plain", {"p", "bias"})}, {})};
  CHECK(codes(d) == std::vector<std::string>{"FHR0404"});
  d.world.values.back().for_addition = true;
  const Workload workload = good(d);
  CHECK(workload.world.values[4].type->scale == workload.stages[0].body[0].type.scale);
}

TEST_CASE("the inputs of a body are required where it runs, each once, in order of first use") {
  WorkloadDraft d = draft();
  d.stages = {stage("one",
                    {operation("a", "rotate", {"x"}, "rot1"), operation("b", "multiply_plain", {"a", "w"}),
                     operation("c", "add", {"b", "b"})},
                    {"c"})};
  d.stages[0].require = {{{"relin", {}}, Location::pinned_host()}, {{"x", {}}, Location::cuda(0)}};
  const Workload workload = good(d);
  const Stage& s = workload.stages[0];
  REQUIRE(s.require.size() == 4);
  CHECK(s.input_count == 3);
  CHECK(s.require[0].value == 0);
  CHECK(s.require[1].value == 2);
  CHECK(s.require[2].value == 1);
  CHECK(s.require[3].value == 3);
  CHECK(s.require[3].at == Location::pinned_host());
  CHECK(s.body[2].operands[0].from == Operand::From::result);
  CHECK(s.body[2].output == 0u);
  CHECK(s.automatic_reserve);
  CHECK(s.reserve.size() == 2);
}

TEST_CASE("a multiplication relinearizes with a key, and has three components without") {
  WorkloadDraft d = draft();
  d.stages = {
      stage("one", {operation("a", "multiply", {"x", "x"}), operation("b", "square", {"x"}, "relin")}, {})};
  const Workload workload = good(d);
  CHECK(workload.stages[0].body[0].type.components == 3);
  CHECK(workload.stages[0].body[1].type.components == 2);
  CHECK(workload.stages[0].body[1].scratch_bytes > 0);
}

TEST_CASE("a rotation by steps finds its key, also when they are counted the other way") {
  WorkloadDraft d = draft();
  OperationDraft rotate = operation("a", "rotate", {"x"});
  rotate.steps = -511;
  d.stages = {stage("one", {rotate}, {})};
  CHECK(good(d).stages[0].body[0].key->index == 2);
  d.stages[0].body[0].steps = 2;
  CHECK(codes(d) == std::vector<std::string>{"FHR0403"});
  d.stages[0].body[0].steps.reset();
  CHECK(codes(d) == std::vector<std::string>{"FHR0403"});
}

TEST_CASE("one wrong operation is reported once, and not again by all that depends on it") {
  WorkloadDraft d = draft();
  d.stages = {stage("one",
                    {operation("a", "rescale", {"x"}), operation("b", "negate", {"a"}),
                     operation("c", "add", {"b", "x"})},
                    {"c"}),
              stage("two", {operation("e", "negate", {"c"})}, {"e"})};
  CHECK(codes(d) == std::vector<std::string>{"FHR0404"});
}

TEST_CASE("all problems are found in one run") {
  WorkloadDraft d = draft();
  d.world.values.push_back(value("x", ValueKind::plaintext));      // twice
  d.world.values.push_back(value("both", ValueKind::ciphertext));  // exclusive at two places
  d.world.values.back().exclusive = true;
  d.world.values.back().at = {Location::pageable_host(), Location::pinned_host()};
  d.world.values.back().at_places.resize(2);
  d.stages = {stage("one", {operation("a", "negate", {"y"}), operation("b", "rotat", {"x"})}, {"q"}),
              stage("two", {}, {})};
  const auto found = codes(d);
  for (const char* code : {"FHR0302", "FHR0304", "FHR0301", "FHR0401", "FHR0407", "FHR0405"}) {
    CAPTURE(code);
    CHECK(std::count(found.begin(), found.end(), code) == 1);
  }
  CHECK(found.size() == 6);
}

TEST_CASE("a manual plan sees what its stage makes on exit, and not before") {
  WorkloadDraft d = draft();
  d.stages = {stage("one", {operation("y", "negate", {"x"})}, {"y"})};
  PlanDraft plan;
  plan.enter = {{NamedAction::Verb::ensure, {"x", {}}, Location::cuda(0), {}}};
  plan.exit = {{NamedAction::Verb::move, {"y", {}}, Location::pageable_host(), Location::cuda(0)}};
  d.stages[0].plan = plan;
  const Workload workload = good(d);
  REQUIRE(workload.stages[0].plan);
  CHECK(workload.stages[0].plan->exit[0].value == 4);
  d.stages[0].plan->enter.push_back({NamedAction::Verb::ensure, {"y", {}}, Location::cuda(0), {}});
  CHECK(codes(d) == std::vector<std::string>{"FHR0309"});
}

TEST_CASE("opaque bytes need no parameters, and nothing else goes without") {
  WorkloadDraft d;
  d.world.values = {value("w", ValueKind::bytes)};
  d.world.values[0].bytes = 1000;
  StageDraft only;
  only.name.text = "only";
  only.require = {{{"w", {}}, Location::cuda(0)}};
  only.reserve.emplace().push_back({{Location::cuda(0), 100, "headroom"}, {}});
  d.stages = {only};
  const Workload workload = good(d);
  REQUIRE(workload.stages[0].reserve.size() == 1);
  CHECK_FALSE(workload.stages[0].automatic_reserve);
  CHECK(workload.world.values[0].spec.type == "bytes");
  CHECK(workload.world.values[0].spec.logical_bytes == 1000);
  CHECK(workload.world.values[0].spec.storage_bytes == 1024);
  d.world.values.push_back(value("x", ValueKind::ciphertext));
  CHECK(codes(d) == std::vector<std::string>{"FHR0204"});
}

TEST_CASE(
    "a seeded key is a full one that is expanded from its half, which starts where the key is said to") {
  WorkloadDraft seeded = draft();
  seeded.world.values[2].seeded = true;
  seeded.world.values[2].at = {Location::pinned_host()};
  seeded.stages = {stage("s", {operation("y", "rotate", {"x"}, "rot1")}, {"y"})};
  const Workload workload = good(seeded);
  const World& world = workload.world;
  const Value& full = world.values[*world.find("rot1")];
  const Value& half = world.values[*world.find("rot1.seeded")];
  CHECK(full.backing == world.find("rot1.seeded"));
  CHECK(full.at.empty());
  CHECK(full.spec.recoverability == residency::Recoverability::reconstructible);
  CHECK(half.at == std::vector<Location>{Location::pinned_host()});
  CHECK(half.spec.recoverability == residency::Recoverability::must_preserve);
  CHECK(half.client_name == "rot1");
  CHECK(*half.type == scheme::seeded_form(*full.type));
  CHECK(half.spec.logical_bytes == full.spec.logical_bytes / 2 + 32);
  CHECK(half.spec.storage_bytes % kGranule == 0);
  // Halves stand between what is declared and what stages make, and come to a manager before what needs them.
  CHECK(*world.find("rot1.seeded") == 4);
  CHECK(*world.find("y") == 5);
  CHECK(world.placement_order() == std::vector<ValueIndex>{0, 1, 3, 4, 5, 2});
  CHECK(needs_secret(half));
  CHECK_FALSE(needs_secret(full));
}

TEST_CASE("the half of a seeded key is no key, and its name is taken") {
  WorkloadDraft seeded = draft();
  seeded.world.values[2].seeded = true;
  seeded.stages = {stage("s", {operation("y", "rotate", {"x"}, "rot1.seeded")}, {"y"})};
  CHECK(codes(seeded) == std::vector<std::string>{"FHR0303"});
  seeded = draft();
  seeded.world.values[2].seeded = true;
  seeded.world.values[1].name.text = "rot1.seeded";
  seeded.stages = {stage("s", {operation("y", "rotate", {"x"}, "rot1")}, {"y"})};
  CHECK(codes(seeded) == std::vector<std::string>{"FHR0302"});
}

TEST_CASE("keys and ciphertexts come all from files or none; what a file holds can be made again") {
  WorkloadDraft mixed = draft();
  mixed.stages = {stage("s", {operation("y", "rotate", {"x"}, "rot1")}, {"y"})};
  const auto from_file = [&](std::size_t index) {
    mixed.world.values[index].file = "values";
    mixed.world.values[index].source = Location::pageable_host();
  };
  from_file(0);
  CHECK(codes(mixed) == std::vector<std::string>{"FHR0314"});
  from_file(2);
  from_file(3);
  const Workload workload = good(mixed);
  for (const Value& value : workload.world.values) CHECK_FALSE(needs_secret(value));
  CHECK(workload.world.values[0].spec.recoverability == residency::Recoverability::reconstructible);
  // A plaintext is no secret of anybody.
  CHECK_FALSE(workload.world.values[1].file);
}
