#include <filesystem>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>

using namespace fheres;
using namespace fheres::documents;

TEST_CASE("every shipped document is valid and names its schema") {
  int count = 0;
  for (const char* folder : {"samples", "plans"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      CAPTURE(entry.path().string());
      const Loaded loaded = load(entry.path());
      for (const Diagnostic& d : loaded.diagnostics) MESSAGE(render(d, loaded.sources));
      CHECK(loaded.model);
      CHECK(loaded.sources.at(entry.path().string()).starts_with("# yaml-language-server: $schema="));
      ++count;
    }
  }
  CHECK(count >= 6);
}

TEST_CASE("the main sample has the sizes that its comments promise") {
  Loaded loaded = load("samples/automatic-rotate-scale.yaml");
  REQUIRE(loaded.model);
  const auto& workload = std::get<workload::Workload>(*loaded.model);
  const auto bytes = [&](const char* name) {
    return workload.world.values[*workload.world.find(name)].spec.storage_bytes;
  };
  CHECK(bytes("x") == 2 * kMiB);
  CHECK(bytes("half") == kMiB);
  CHECK(bytes("cold") == kMiB);
  CHECK(bytes("rot1") == 18 * kMiB);
  CHECK(bytes("y") == kMiB + 768 * kKiB);
  const workload::Stage& stage = workload.stages[0];
  CHECK(stage.layout.workspace_bytes + stage.layout.outputs_bytes() == 13 * kMiB);
  CHECK_FALSE(stage.automatic_reserve);
}

TEST_CASE("the tiles of the explicit sample need its budget to the byte") {
  Loaded loaded = load("samples/explicit-tiles.yaml");
  REQUIRE(loaded.model);
  const auto& workload = std::get<workload::Workload>(*loaded.model);
  REQUIRE(workload.stages.size() == 4);
  for (const workload::Stage& stage : workload.stages) {
    Bytes need = 20 * kMiB + 2 * kMiB;
    for (const auto& reservation : stage.reserve) need += reservation.spec.bytes;
    CHECK(need == workload.world.budgets().at(workload::Location::cuda(0)));
    CHECK(stage.plan);
  }
}
