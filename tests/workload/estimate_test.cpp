#include <cmath>

#include <fheres/scheme/presets.hpp>
#include <fheres/workload/estimate.hpp>

#include "workload/drafts.hpp"

using namespace fheres;
using namespace fheres::workload;
using namespace fheres::workload::test;

TEST_CASE("errors are estimated along the stages, from what each operation makes of its operands") {
  WorkloadDraft draft;
  draft.metadata.name.text = "test";
  draft.world.parameters = ParametersDraft{*scheme::find_preset("test-slots512-scale40-levels4"), {}};
  draft.world.values = {value("x", ValueKind::ciphertext), value("w", ValueKind::plaintext),
                        value("relin", ValueKind::relinearization_key), value("opaque", ValueKind::bytes)};
  draft.stages = {
      stage("first", {operation("p", "multiply_plain", {"x", "w"}), operation("y", "rescale", {"p"})}, {"y"}),
      stage("second", {operation("z", "add", {"y", "y"})}, {"z"})};
  const CheckedWorkload checked = check(draft);
  REQUIRE(checked.workload);
  const World& world = checked.workload->world;
  const auto all = estimates(*checked.workload);
  const auto of = [&](const char* name) { return all[*world.find(name)]; };
  CHECK(of("x")->magnitude == 0.5);
  CHECK(of("x")->deviation ==
        scheme::fresh_estimate(*world.parameters, world.values[0].type->scale, 0.5).deviation);
  CHECK(of("y")->magnitude == doctest::Approx(0.25));
  CHECK(of("y")->deviation > 0);
  CHECK(of("z")->magnitude == doctest::Approx(0.5));
  CHECK(of("z")->deviation == doctest::Approx(2 * of("y")->deviation));
  CHECK_FALSE(of("relin"));
  CHECK_FALSE(of("opaque"));

  // A message that nobody tells of may be as large as the base prime allows.
  draft.world.values[0].message.reset();
  const CheckedWorkload unknown = check(draft);
  REQUIRE(unknown.workload);
  CHECK(estimates(*unknown.workload)[0]->magnitude > 1e5);
  CHECK(estimates(*unknown.workload)[*world.find("z")]->deviation > of("z")->deviation);
}
