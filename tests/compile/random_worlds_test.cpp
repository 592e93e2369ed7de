#include <fheres/compile/fit.hpp>
#include <fheres/workload/rehearsal.hpp>

#include "brute_force.hpp"
#include "support/random.hpp"
#include "worlds.hpp"

using namespace fheres;
using memory::Location;

namespace {

struct Shape {
  std::size_t values = 4, stages = 4;
  bool exclusive = false, reconstructible = false, produced = false, tight_host = false, two_devices = false,
       backed = false;
};

std::string size(test::Random& random) { return std::to_string((1 + random.below(4)) * 256); }

/// A workload of a few values of 1 to 4 granules at a device with room for some of them.
workload::Workload draw(test::Random& random, const Shape& shape) {
  std::string text =
      fmt::format("locations: {{pinned-host: {{{}}}, cuda:0: {{budget: {}}}",
                  shape.tight_host ? fmt::format("budget: {}", (8 + random.below(4)) * 256) : "",
                  (4 + random.below(5)) * 256);
  if (shape.two_devices) text += fmt::format(", cuda:1: {{budget: {}}}", (3 + random.below(4)) * 256);
  text += "}\n";
  if (!random.chance(5))
    text += fmt::format("policy: {{fallback: {{cuda:0: [pinned-host{0}], cuda:1: [pinned-host{0}]}}}}\n",
                        shape.tight_host ? ", pageable-host" : "");
  text += "values:\n";
  std::vector<std::string> names;
  for (std::size_t v = 0; v < shape.values; ++v) {
    const char* at = random.chance(4) ? "cuda:0" : "pinned-host";
    names.push_back(fmt::format("v{}", v));
    text += fmt::format("  v{}: {{bytes: {}, at: {}{}}}\n", v, size(random), at,
                        shape.exclusive && random.chance(3) ? ", replica: exclusive" : "");
  }
  text += "stages:\n";
  for (std::size_t s = 0; s < shape.stages; ++s) {
    std::string needs;
    std::vector<std::string> pool = names;
    for (std::size_t k = 0; k < 1 + random.below(2) && !pool.empty(); ++k) {
      const std::size_t pick = random.below(pool.size());
      needs += (needs.empty() ? "" : ", ") + pool[pick];
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    const char* at = shape.two_devices && random.chance(3) ? "cuda:1" : "cuda:0";
    text += fmt::format(
        "  - {{name: s{}, at: {}, require: {{{}: [{}]}}, reserve: [{{at: {}, bytes: {}, label: "
        "outputs}}]{}}}\n",
        s, at, at, needs, at, random.below(2) * 256,
        random.chance(6) ? ", release: [" + names.back() + "]" : "");
    if (text.ends_with("release: [" + names.back() + "]}\n")) names.pop_back();
    if (names.empty()) break;
  }
  workload::Workload workload = test::workload_of(text);
  for (workload::Value& value : workload.world.values) {
    if (!shape.reconstructible || !random.chance(3)) continue;
    value.source = Location::pinned_host();
    value.spec.recoverability = residency::Recoverability::reconstructible;
    if (random.chance(2)) value.at.clear();
  }
  // Some are expanded from half of their bytes, and some of those are there in full as well.
  for (workload::ValueIndex v = 0; shape.backed && v < shape.values; ++v) {
    if (!random.chance(2)) continue;
    workload::Value half;
    half.name.text = fmt::format("b{}", v);
    const Bytes bytes = round_up_to_granule(workload.world.values[v].spec.logical_bytes / 2);
    half.spec = workload::make_bytes_spec(half.name.text, bytes, residency::ReplicaMode::replicable);
    half.at = {Location::pinned_host()};
    workload.world.values.push_back(half);
    workload::Value& full = workload.world.values[v];
    full.backing = workload.world.values.size() - 1;
    full.spec.recoverability = residency::Recoverability::reconstructible;
    if (random.chance(2)) full.at.clear();
  }
  if (!shape.produced) return workload;
  // Some stages make a value that the next ones may need.
  for (std::size_t s = 0; s + 1 < workload.stages.size(); ++s) {
    if (!random.chance(2)) continue;
    workload::Value value;
    value.name.text = fmt::format("y{}", s);
    const Bytes bytes = (1 + random.below(3)) * 256;
    value.spec = workload::make_bytes_spec(value.name.text, bytes, residency::ReplicaMode::replicable);
    value.produced_by = s;
    const workload::ValueIndex index = workload.world.values.size();
    workload.world.values.push_back(value);
    workload::Stage& stage = workload.stages[s];
    stage.outputs.push_back({0, index, {}});
    stage.layout.output_from.push_back(0);
    stage.reserve[0].spec.bytes += bytes;
    const std::size_t reader = s + 1 + random.below(workload.stages.size() - s - 1);
    workload.stages[reader].require.push_back({index, *workload.stages[reader].at, {}});
  }
  return workload;
}

struct Tally {
  std::size_t worlds = 0, plans = 0, optimal = 0, proven = 0, unknown = 0;
};

void compare(const workload::Workload& workload, Tally& tally) {
  ++tally.worlds;
  const std::optional<Bytes> fewest = test::fewest_bytes(workload);
  const compile::Outcome outcome = compile::compile(workload);
  if (std::holds_alternative<compile::Infeasible>(outcome)) {
    CHECK_FALSE(fewest.has_value());
    return;
  }
  const auto* made = std::get_if<compile::Compiled>(&outcome);
  if (made == nullptr) {
    tally.unknown += fewest.has_value() ? 1 : 0;
    return;
  }
  ++tally.plans;
  REQUIRE(fewest.has_value());
  const workload::Evidence& evidence = *made->program.evidence;
  CHECK(evidence.lower_bound_bytes <= *fewest);
  CHECK(evidence.moved_bytes >= *fewest);
  if (evidence.moved_bytes == *fewest) ++tally.optimal;
  if (evidence.optimal()) ++tally.proven;
  // What is written replays, to the byte, also after it was read back.
  const std::string text = documents::emit(made->program);
  const documents::Loaded loaded = documents::load_text(text, "plan.yaml", ".");
  REQUIRE(loaded.model.has_value());
  const workload::Rehearsal rehearsal = workload::rehearse(std::get<workload::Program>(*loaded.model));
  CHECK(rehearsal.answer == workload::Answer::feasible);
  CHECK(rehearsal.moved_bytes == evidence.moved_bytes);
  CHECK(rehearsal.compacted_bytes == evidence.compacted_bytes);
  REQUIRE(rehearsal.peaks.size() == evidence.peaks.size());
  for (std::size_t i = 0; i < rehearsal.peaks.size(); ++i) {
    CHECK(rehearsal.peaks[i].charged == evidence.peaks[i].bytes);
    CHECK(rehearsal.peaks[i].stage == evidence.peaks[i].stage);
  }
}

void try_worlds(const Shape& shape, std::size_t count, std::uint64_t seed, Tally& tally) {
  test::Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    compare(draw(random, shape), tally);
  }
}

}  // namespace

TEST_CASE("of random worlds the optimum is found, and no bound is above it") {
  const std::uint64_t seed = test::test_seed(11);
  Tally tally;
  try_worlds({}, 20, seed, tally);
  try_worlds({.exclusive = true}, 20, seed + 1, tally);
  try_worlds({.reconstructible = true}, 20, seed + 2, tally);
  try_worlds({.values = 3, .produced = true}, 20, seed + 3, tally);
  MESSAGE(tally.worlds << " worlds, " << tally.plans << " plans, " << tally.optimal << " optimal, "
                       << tally.proven << " proven, " << tally.unknown << " without an answer");
  CHECK(tally.optimal == tally.plans);
  CHECK(tally.proven * 10 >= tally.plans * 9);
  CHECK(tally.unknown == 0);
}

TEST_CASE("with budgeted host tiers and several devices, bounds hold and plans replay") {
  const std::uint64_t seed = test::test_seed(31);
  Tally tally;
  try_worlds({.values = 3, .exclusive = true, .tight_host = true}, 12, seed, tally);
  try_worlds({.values = 3, .stages = 4, .exclusive = true, .two_devices = true}, 12, seed + 1, tally);
  MESSAGE(tally.worlds << " worlds, " << tally.plans << " plans, " << tally.optimal << " optimal, "
                       << tally.proven << " proven, " << tally.unknown << " without an answer");
  CHECK(tally.optimal * 10 >= tally.plans * 8);
}

TEST_CASE("with values that are expanded, bounds hold and plans replay") {
  // The fewest bytes may take a backing that waits on the device in its value's place, which no plan does.
  const std::uint64_t seed = test::test_seed(41);
  Tally tally;
  try_worlds({.values = 3, .backed = true}, 20, seed, tally);
  MESSAGE(tally.worlds << " worlds, " << tally.plans << " plans, " << tally.optimal << " optimal, "
                       << tally.proven << " proven, " << tally.unknown << " without an answer");
  CHECK(tally.plans >= 5);
  CHECK(tally.unknown == 0);
}

TEST_CASE("what fit calls too small is infeasible, and what it finds is not") {
  test::Random random(test::test_seed(51));
  for (int i = 0; i < 8; ++i) {
    CAPTURE(i);
    workload::Workload workload = draw(random, {.values = 4, .stages = 4, .exclusive = true});
    const auto fitted = compile::fit(workload, Location::cuda(0));
    const auto* fit = std::get_if<compile::Fit>(&fitted);
    if (fit == nullptr) continue;
    workload.world.set_budget(Location::cuda(0), fit->smallest);
    CHECK(test::fewest_bytes(workload).has_value());
    if (!fit->proven_too_small) continue;
    CHECK(*fit->proven_too_small < fit->smallest);
    workload.world.set_budget(Location::cuda(0), *fit->proven_too_small);
    CHECK_FALSE(test::fewest_bytes(workload).has_value());
  }
}

TEST_CASE("a sweep falls, and its last point moves what has to move") {
  const workload::Workload workload = test::workload_of(R"(
locations: {cuda:0: {budget: 1 KiB}}
values:
  a: {bytes: 512, at: pinned-host}
  b: {bytes: 512, at: pinned-host}
  c: {bytes: 512, at: pinned-host}
stages:
  - {name: s0, require: {cuda:0: [a]}}
  - {name: s1, require: {cuda:0: [b]}}
  - {name: s2, require: {cuda:0: [c]}}
  - {name: s3, require: {cuda:0: [a]}}
  - {name: s4, require: {cuda:0: [b]}}
)");
  compile::FitOptions options;
  options.points = 3;
  const auto fitted = compile::fit(workload, Location::cuda(0), options);
  const auto* fit = std::get_if<compile::Fit>(&fitted);
  REQUIRE(fit != nullptr);
  CHECK(fit->smallest == 512);
  CHECK(fit->closed());
  REQUIRE(fit->sweep.size() == 3);
  CHECK(fit->sweep[0].moved_bytes == 5 * 512);
  CHECK(fit->sweep[1].moved_bytes == 4 * 512);
  CHECK(fit->sweep[2].moved_bytes == 3 * 512);
  CHECK(fit->sweep[2].budget == 3 * 512);
}

TEST_CASE("a sweep ends where more room stops to help, whatever passes through once") {
  std::string text = "locations: {cuda:0: {budget: 1 KiB}}\nvalues:\n  a: {bytes: 512, at: pinned-host}\n";
  std::string stages = "stages:\n";
  for (int i = 0; i < 10; ++i) {
    text += fmt::format("  once-{}: {{bytes: 512, at: pinned-host}}\n", i);
    stages += fmt::format(
        "  - {{name: a-{0}, require: {{cuda:0: [a]}}}}\n"
        "  - {{name: once-{0}, require: {{cuda:0: [once-{0}]}}}}\n",
        i);
  }
  const workload::Workload workload = test::workload_of(text + stages);
  compile::FitOptions options;
  options.points = 3;
  const auto fitted = compile::fit(workload, Location::cuda(0), options);
  const auto* fit = std::get_if<compile::Fit>(&fitted);
  REQUIRE(fit != nullptr);
  REQUIRE(fit->sweep.size() == 3);
  CHECK(fit->sweep[0].moved_bytes == 20 * 512);
  // `a` and one other: eleven values would fill 5.5 KiB.
  CHECK(fit->sweep[2].budget == 2 * 512);
  CHECK(fit->sweep[2].moved_bytes == 11 * 512);
  // With a machine they do: what comes earlier may be there sooner.
  options.compile.machine = workload::default_machine();
  const auto timed = compile::fit(workload, Location::cuda(0), options);
  REQUIRE(std::holds_alternative<compile::Fit>(timed));
  CHECK(std::get<compile::Fit>(timed).sweep.back().budget > 2 * 512);
}
