#include <doctest/doctest.h>

#include <fheres/documents/machine_file.hpp>

#include "support/folder.hpp"

using namespace fheres;
using documents::Loaded;

namespace {

Loaded load_machine_text(const std::string& text) {
  return documents::load_text(text, "m.yaml", ".", {.machines = true});
}

const std::string kMachineHead = "apiVersion: fheres/v1\nkind: Machine\nmetadata: {name: m}\n";

std::string codes_of(const Loaded& loaded) {
  std::string codes;
  for (const auto& item : loaded.diagnostics) codes += (codes.empty() ? "" : " ") + item.code;
  return codes;
}

}  // namespace

TEST_CASE("two sizes that took the same time read back as they were written, one that took less is refused") {
  workload::Machine machine;
  machine.name = "h";
  for (double ns : {4'011'333.0, 97'777.0, 1'234'567.0}) {
    machine.copies = {{workload::Tier::pinned_host, workload::Tier::cuda, {}}};
    for (Bytes bytes = 64 * kKiB; bytes <= kGiB; bytes *= 4) machine.copies[0].points.push_back({bytes, ns});
    const Loaded read = load_machine_text(documents::machine_yaml(machine, ""));
    INFO(codes_of(read));
    REQUIRE(read.machine);
    const auto& points = read.machine->copies[0].points;
    for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].ns >= points[i - 1].ns);
  }
  machine.copies[0].points[3].ns *= 0.99;
  CHECK(codes_of(load_machine_text(documents::machine_yaml(machine, ""))) == "FHR0702");
}

TEST_CASE("a machine reads back as it was written, to four digits") {
  workload::Machine machine;
  machine.name = "h";
  machine.device = "Some Device 9";
  machine.peers = {{memory::Location::cuda(0), memory::Location::cuda(1)}};
  machine.full_duplex = false;
  machine.expansion = 1.4703e12;
  machine.compaction = 1.2e12;
  machine.stage_ns = 12345;
  // The second takes as long as the first, and its rate is rounded up.
  machine.copies = {{workload::Tier::pinned_host,
                     workload::Tier::cuda,
                     {{65536, 22250}, {262144, 22250}, {kGiB, 19'381'000}}},
                    {workload::Tier::cuda, workload::Tier::pageable_host, {{1000, 100}}}};
  machine.operations = {{"slots8192-scale40-levels7", "rotate", {{0, 93'000}, {7, 31'500}}},
                        {"slots8192-scale40-levels7", "multiply+key", {{0, 100'000}}}};
  const Loaded read = load_machine_text(documents::machine_yaml(machine, "measured: with care"));
  INFO(codes_of(read));
  REQUIRE(read.machine);
  CHECK(read.machine->name == "h");
  CHECK(read.machine->device == machine.device);
  CHECK(read.machine->peers == machine.peers);
  CHECK(!read.machine->full_duplex);
  CHECK(*read.machine->expansion == doctest::Approx(*machine.expansion).epsilon(1e-3));
  CHECK(*read.machine->compaction == doctest::Approx(*machine.compaction).epsilon(1e-3));
  CHECK(read.machine->stage_ns == doctest::Approx(machine.stage_ns).epsilon(1e-3));
  REQUIRE(read.machine->copies.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read.machine->copies[i].from == machine.copies[i].from);
    REQUIRE(read.machine->copies[i].points.size() == machine.copies[i].points.size());
    for (std::size_t p = 0; p < machine.copies[i].points.size(); ++p) {
      CHECK(read.machine->copies[i].points[p].bytes == machine.copies[i].points[p].bytes);
      CHECK(read.machine->copies[i].points[p].ns ==
            doctest::Approx(machine.copies[i].points[p].ns).epsilon(1e-3));
    }
  }
  REQUIRE(read.machine->operations.size() == 2);
  CHECK(read.machine->operation("slots8192-scale40-levels7", "rotate")->ns(7) == doctest::Approx(31'500));
  CHECK(documents::kind_of(read) == "Machine");
}

TEST_CASE("what a machine says wrongly is reported at its place, all of it") {
  const auto codes = [](const std::string& body) { return codes_of(load_machine_text(kMachineHead + body)); };
  CHECK(codes("") == "");
  CHECK(codes("granularity: 512\n") == "FHR0702");
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {1 MiB: 5 GB}}]\n") == "FHR0701");
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {1 MiB: 0 GB/s}}]\n") == "FHR0701");
  CHECK(codes("copies: [{from: gpu, to: pinned-host, bandwidth: {1 MiB: 1 GB/s}}]\n") == "FHR0111");
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {1 Mb: 1 GB/s}}]\n") == "FHR0109");
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {0: 1 GB/s}}]\n") == "FHR0702");
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {1 MiB: 1 GB/s, 1024 KiB: 2 GB/s}}]\n") ==
        "FHR0702");
  // Four times the bytes in half the time.
  CHECK(codes("copies: [{from: cuda, to: pinned-host, bandwidth: {1 MiB: 1 GB/s, 4 MiB: 8 GB/s}}]\n") ==
        "FHR0702");
  CHECK(codes("copies:\n  - {from: cuda, to: cuda, bandwidth: {1 MiB: 1 GB/s}}\n"
              "  - {from: cuda, to: cuda, bandwidth: {1 MiB: 1 GB/s}}\n") == "FHR0702");
  CHECK(codes("operations: [{parameters: a, operation: rotate, levels: {x: 1 us}}]\n") == "FHR0107");
  CHECK(codes("operations: [{parameters: a, operation: rotate, levels: {0: 1}}]\n") == "FHR0701");
  CHECK(codes("operations: [{parameters: a, operation: rotate}]\n") == "FHR0105");
  CHECK(codes("peers: [[cuda:0, cuda:0]]\n") == "FHR0313");
  CHECK(codes("values: {}\n") == "FHR0103");
  CHECK(codes("stage: -1 us\nexpansion: fast\ncompaction: 1\n") == "FHR0701 FHR0701 FHR0701");
}

TEST_CASE("a document names its machine, and takes its peers") {
  const test::Folder folder;
  folder.write("m.yaml", kMachineHead +
                             "peers: [[cuda:0, cuda:1]]\n"
                             "copies: [{from: pinned-host, to: cuda, bandwidth: {1 MiB: 1 GB/s}}]\n");
  const std::string plan =
      "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: p}\nmachine: m.yaml\n"
      "values: {w: {bytes: 1 MiB, at: pinned-host}}\nstages: [{name: s, enter: [{ensure: w, at: cuda:0}]}]\n";
  const Loaded loaded = documents::load_text(plan, "p.yaml", folder.path);
  INFO(codes_of(loaded));
  REQUIRE(loaded.model);
  const workload::World& world = std::get<workload::Program>(*loaded.model).world;
  CHECK(world.peers.size() == 1);
  REQUIRE(world.machine);
  CHECK(*world.machine->copy_ns(memory::Location::pinned_host(), memory::Location::cuda(0), kMiB) ==
        doctest::Approx(1'048'576));
}

TEST_CASE("a machine is no model, and a model no machine") {
  const Loaded loaded = documents::load_text(kMachineHead, "m.yaml", ".");
  CHECK(codes_of(loaded) == "FHR0102");
  CHECK(codes_of(documents::load_machine("plans/two-tiles.yaml")) == "FHR0102");
}
