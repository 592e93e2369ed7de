#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>
#include <fheres/workload/rehearsal.hpp>

using namespace fheres;
using namespace fheres::documents;

namespace {

const char* const kHead = "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: t}\n";

std::vector<std::string> found(const Loaded& loaded) {
  std::vector<std::string> result;
  for (const Diagnostic& d : loaded.diagnostics) {
    result.push_back(d.code + "@" + std::to_string(d.place.line) + ":" + std::to_string(d.place.column));
  }
  return result;
}
std::vector<std::string> found(const std::string& text) { return found(load_text(text, "t.yaml", ".")); }

workload::Workload good(const std::string& text) {
  Loaded loaded = load_text(text, "t.yaml", ".");
  for (const Diagnostic& d : loaded.diagnostics) MESSAGE(render(d, loaded.sources));
  REQUIRE(loaded.model);
  return std::get<workload::Workload>(std::move(*loaded.model));
}

/// A folder of its own, removed at the end.
struct Folder {
  std::filesystem::path path;
  Folder() : path(std::filesystem::temp_directory_path() / ("fheres-load-test-" + std::to_string(::rand()))) {
    std::filesystem::create_directories(path / "inner");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

}  // namespace

TEST_CASE("every name of a model keeps the place where the user wrote it") {
  const auto workload = good(std::string(kHead) +
                             "parameters: {preset: test-slots512-scale40-levels4}\n"
                             "values:\n"
                             "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
                             "stages:\n"
                             "  - name: first\n"
                             "    at: cuda:0\n"
                             "    body:\n"
                             "      - y: {negate: x}\n"
                             "    outputs: [y]\n"
                             "    release: [x]\n");
  CHECK(workload.world.values[0].name.place == workload::Place{"t.yaml", 6, 3, 1});
  const workload::Stage& stage = workload.stages[0];
  CHECK(stage.name.place == workload::Place{"t.yaml", 8, 11, 5});
  CHECK(stage.body[0].result.place == workload::Place{"t.yaml", 11, 9, 1});
  CHECK(stage.body[0].place == workload::Place{"t.yaml", 11, 13, 6});
  CHECK(stage.body[0].operands[0].place == workload::Place{"t.yaml", 11, 21, 1});
  CHECK(stage.outputs[0].place == workload::Place{"t.yaml", 12, 15, 1});
  CHECK(stage.release[0].place == workload::Place{"t.yaml", 13, 15, 1});
  CHECK(stage.require[0].place == workload::Place{"t.yaml", 11, 21, 1});
}

TEST_CASE("operations with numbers, sums of slots and polynomials are read with what stands beside them") {
  const std::string values =
      "parameters: {preset: test-slots512-scale40-levels4}\n"
      "values:\n"
      "  x: {ciphertext: {message: {constant: 1}}, at: pinned-host}\n"
      "  relin: {relinearization_key: {}, at: pinned-host}\n"
      "  r1: {rotation_key: {steps: 1}, at: pinned-host}\n"
      "  r2: {rotation_key: {steps: 2}, at: pinned-host}\n"
      "stages: [{name: s, at: cuda:0, outputs: [y], body: [\n";
  const auto body = [&](const std::string& line) { return std::string(kHead) + values + line + "]}]\n"; };
  const auto workload = good(
      body("  {a: {multiply_scalar: [x, -0.25]}}, {b: {rescale: a}}, {c: {square_rescale: b, key: relin}},\n"
           "  {d: {sum_slots: c, count: 4}},\n"
           "  {y: {polynomial: d, coefficients: [0, 1, 0.5, 2], basis: chebyshev, key: relin}}"));
  const std::vector<workload::BodyOperation>& steps = workload.stages[0].body;
  CHECK(steps[0].scalar->value == -0.25);
  CHECK(std::get<workload::SumSlots>(*steps[3].composite).count == 4);
  CHECK(steps[3].keys.size() == 2);
  CHECK(name(steps[3]) == "sum_slots");
  const auto& polynomial = std::get<workload::Polynomial>(*steps[4].composite);
  CHECK(polynomial.coefficients == std::vector<double>{0, 1, 0.5, 2});
  CHECK(polynomial.basis == scheme::PolynomialBasis::chebyshev);
  CHECK(steps[4].type == scheme::ciphertext_type(*workload.world.parameters, 4));
  // A key that several operations use is made at the freshest of their levels; rotations read theirs at level 2.
  CHECK(workload.world.values[1].type->level == 1);
  CHECK(workload.world.values[2].type->level == 2);

  using Codes = std::vector<std::string>;
  CHECK(found(body("  {y: {multiply_scalar: x}}")) == Codes{"FHR0106@11:25"});
  CHECK(found(body("  {y: {multiply_scalar: [x, z]}}")) == Codes{"FHR0106@11:29"});
  CHECK(found(body("  {y: {sum_slots: x, count: 1}}")) == Codes{"FHR0107@11:29"});
  CHECK(found(body("  {y: {sum_slots: x, count: 3}}")) == Codes{"FHR0404@11:8"});
  CHECK(found(body("  {y: {sum_slots: x, count: 8}}")) == Codes{"FHR0403@11:8"});
  CHECK(found(body("  {y: {sum_slots: x, count: 4, key: r1}}")) == Codes{"FHR0403@11:37"});
  CHECK(found(body("  {y: {negate: x, count: 4}}")) == Codes{"FHR0103@11:19"});
  CHECK(found(body("  {y: {polynomial: x, key: relin}}")) == Codes{"FHR0402@11:8"});
  CHECK(found(body("  {y: {polynomial: x, coefficients: [1, 0, 2]}}")) == Codes{"FHR0404@11:8"});
  CHECK(found(body("  {y: {polynomial: x, coefficients: [1, 2], basis: sine}}")) == Codes{"FHR0111@11:52"});
}

TEST_CASE("everything that a value can say is read") {
  const auto workload =
      good(std::string(kHead) +
           "seed: 18446744073709551615\n"
           "parameters: {log_n: 10, q: [60, 40x3], p: [60], scale_bits: 40, digit_limbs: 1, security: none}\n"
           "locations: {pinned-host: {budget: 1.5 GiB}, cuda:0: {budget: 2GB}, cuda:1: {}}\n"
           "policy: {fallback: {cuda:0: [pinned-host, pageable-host]}, search_state_limit: 50}\n"
           "values:\n"
           "  a: {ciphertext: {message: {ramp: {from: -1, to: 1}}, level: 1}, at: [cuda:0, pinned-host], "
           "priority: -3}\n"
           "  b: {plaintext: {message: {list: [1, 2.5, -3e-1]}, level: auto, for: add},\n"
           "      source: {encode: true, at: pageable-host}, stable_key: k1}\n"
           "  c: {rotation_key: {steps: -1, level: 2, form: full}, at: pageable-host, replica: exclusive}\n"
           "  d: {relinearization_key: {}, at: pageable-host}\n"
           "  e: {conjugation_key: , at: pageable-host}\n"
           "  f: {bytes: 1000, at: cuda:1}\n"
           "stages: [{name: s, require: {cuda:0: a, cuda:1: [f, d]}}]\n"
           "checks: {tolerance: 1.0e-3}\n");
  const workload::World& world = workload.world;
  CHECK(workload.seed == ~std::uint64_t{0});
  CHECK(workload.checks.tolerance == 1e-3);
  CHECK(world.parameters->max_level() == 3);
  CHECK(world.budgets() ==
        std::map<workload::Location, Bytes>{{workload::Location::pinned_host(), 1536 * kMiB},
                                            {workload::Location::cuda(0), 2000000000}});
  CHECK(world.locations.size() == 3);
  CHECK(world.policy.search_state_limit == 50u);
  CHECK(world.policy.fallback.at(workload::Location::cuda(0)).size() == 2);
  CHECK(world.values[0].type->level == 1);
  CHECK(world.values[0].at == std::vector{workload::Location::pinned_host(), workload::Location::cuda(0)});
  CHECK(world.values[0].priority == -3);
  CHECK(world.values[1].source == workload::Location::pageable_host());
  CHECK(world.values[1].spec.recoverability == residency::Recoverability::reconstructible);
  CHECK(world.values[1].stable_key == "k1");
  CHECK(std::get<workload::ListMessage>(*world.values[1].message).values ==
        std::vector<double>{1, 2.5, -0.3});
  CHECK(world.values[2].type->steps == 511);
  CHECK(world.values[2].type->level == 2);
  CHECK(world.values[2].spec.replica_mode == residency::ReplicaMode::exclusive);
  CHECK(world.values[4].type->kind == scheme::Kind::conjugation_key);
  CHECK(world.values[5].spec.storage_bytes == 1024);
  CHECK(workload.stages[0].require.size() == 3);
}

TEST_CASE("a budget given on the command line takes the document's place") {
  LoadOptions options;
  options.budgets[workload::Location::cuda(0)] = 5 * kMiB;
  Loaded loaded = load("samples/automatic-rotate-scale.yaml", options);
  REQUIRE(loaded.model);
  const auto budgets = std::get<workload::Workload>(*loaded.model).world.budgets();
  CHECK(budgets.at(workload::Location::cuda(0)) == 5 * kMiB);
  CHECK(budgets.at(workload::Location::pinned_host()) == 2 * kMiB);
}

TEST_CASE("a kind, a version and a name are needed, and only known kinds read") {
  CHECK(found("kind: Workload\nmetadata: {name: t}\nstages: []\n") ==
        std::vector<std::string>{"FHR0105@1:1", "FHR0105@3:9"});
  CHECK(found("apiVersion: fheres/v2\nkind: Workloat\nmetadata: {}\n") ==
        std::vector<std::string>{"FHR0101@1:13", "FHR0102@2:7", "FHR0105@3:11"});
  CHECK(found("just text") == std::vector<std::string>{"FHR0106@1:1"});
  CHECK(found("") == std::vector<std::string>{"FHR0006@1:1"});
  CHECK(found("# nothing\n") == std::vector<std::string>{"FHR0006@1:1"});
  CHECK(found("a: 1\n---\nb: 2\n") == std::vector<std::string>{"FHR0006@2:1"});
}

TEST_CASE("a byte order mark is no problem, and bytes that are no text are") {
  CHECK(found("\xef\xbb\xbf"
              "a: 1\n")
            .front()
            .starts_with("FHR0105"));
  CHECK(found("a: \xff\n") == std::vector<std::string>{"FHR0005@1:4"});
  CHECK(found(std::string("a: 1\nb\0: 2", 10)) == std::vector<std::string>{"FHR0005@2:2"});
  CHECK(found("a: \xc3\xa4\xc3\n") == std::vector<std::string>{"FHR0005@1:5"});
}

TEST_CASE("tags, keys that are no texts and aliases to themselves are refused") {
  const auto tag = found(std::string(kHead) + "stages: !!seq []\n");
  CHECK(std::find(tag.begin(), tag.end(), "FHR0106@4:9") != tag.end());
  const auto key = found(std::string(kHead) + "? [a, b]\n: 1\nstages: [{name: a, require: {}}]\n");
  CHECK(std::find(key.begin(), key.end(), "FHR0106@4:3") != key.end());
  CHECK(found("a: &a [*a]\n").front().starts_with("FHR0004"));
}

TEST_CASE("an alias stands for what it names") {
  const auto workload = good(std::string(kHead) +
                             "values:\n"
                             "  a: &weight {bytes: 1 MiB, at: pinned-host}\n"
                             "  b: *weight\n"
                             "stages: [{name: s, require: {cuda:0: [a, b]}}]\n");
  CHECK(workload.world.values[1].name.text == "b");
  CHECK(workload.world.values[1].spec.logical_bytes == kMiB);
}

TEST_CASE("files that a document names stay inside its folder unless that is allowed") {
  const Folder folder;
  folder.write("world.yaml", std::string(kHead) +
                                 "values: {w: {bytes: 1 MiB, at: pinned-host}}\n"
                                 "stages: [{name: s, require: {cuda:0: w}}]\n");
  const std::string request =
      "apiVersion: fheres/v1\nkind: Request\nmetadata: {name: r}\nworld: {file: ../world.yaml}\n"
      "requests: [{name: q, require: {cuda:0: [w]}}]\n";
  folder.write("inner/request.yaml", request);
  CHECK(found(load(folder.path / "inner/request.yaml")) == std::vector<std::string>{"FHR0112@4:15"});
  LoadOptions options;
  options.allow_outside = true;
  CHECK(found(load(folder.path / "inner/request.yaml", options)).empty());
  std::filesystem::create_symlink(folder.path / "world.yaml", folder.path / "inner/link.yaml");
  folder.write("inner/linked.yaml", std::string(request).replace(request.find("../world"), 8, "link"));
  CHECK(found(load(folder.path / "inner/linked.yaml")) == std::vector<std::string>{"FHR0112@4:15"});
  folder.write("gone.yaml", std::string(request).replace(request.find("../world"), 8, "gone/x"));
  CHECK(found(load(folder.path / "gone.yaml")) == std::vector<std::string>{"FHR0001@4:15"});
  CHECK(found(load(folder.path / "nowhere.yaml")) == std::vector<std::string>{"FHR0001@0:0"});
  CHECK(found(load(folder.path)) == std::vector<std::string>{"FHR0001@0:0"});
}

TEST_CASE("a stage takes its plan from a stage of a Plan document") {
  const Folder folder;
  folder.write("plan.yaml",
               "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: p}\n"
               "values: {w: {bytes: 1 MiB, at: pinned-host}}\n"
               "stages: [{name: one, reserve: [{at: cuda:0, bytes: 2 KiB, label: l}], enter: [{ensure: w, "
               "at: cuda:0}]}]\n");
  const std::string text = std::string(kHead) + "values: {w: {bytes: 1 MiB, at: pinned-host}}\n" +
                           "stages: [{name: s, plan: {file: plan.yaml, stage: one}}]\n";
  folder.write("good.yaml", text);
  Loaded loaded = load(folder.path / "good.yaml");
  for (const Diagnostic& d : loaded.diagnostics) MESSAGE(render(d, loaded.sources));
  REQUIRE(loaded.model);
  const workload::Stage& stage = std::get<workload::Workload>(*loaded.model).stages[0];
  CHECK(stage.plan->enter.size() == 1);
  REQUIRE(stage.reserve.size() == 1);
  CHECK(stage.reserve[0].spec.bytes == 2 * kKiB);
  folder.write("bad.yaml", std::string(text).replace(text.find("one"), 3, "two"));
  CHECK(found(load(folder.path / "bad.yaml")) == std::vector<std::string>{"FHR0503@5:51"});
}

TEST_CASE("a world of another document has its values and keys, before its first stage") {
  Loaded loaded = load("samples/automatic-rotate-scale.request.yaml");
  REQUIRE(loaded.model);
  const auto& requests = std::get<workload::RequestSet>(*loaded.model);
  CHECK(requests.requests[0].require.size() == 3);
  CHECK(requests.world.values[requests.requests[0].require[1].value].spec.logical_bytes == 18 * kMiB);
  CHECK(loaded.sources.size() == 2);
}

TEST_CASE("R64: peers are pairs of two different devices, each once, and copies between others are staged") {
  const std::string head =
      std::string(kHead) + "locations: {pinned-host: {budget: 0 MiB}, cuda:1: {budget: 2 MiB}}\n";
  const std::string rest =
      "values: {v: {bytes: 1 MiB, at: cuda:0}}\nstages: [{name: s, require: {cuda:1: [v]}}]\n";
  const auto staged = good(head + rest);
  CHECK(staged.world.peers.empty());
  CHECK(workload::rehearse(staged).answer == workload::Answer::infeasible);
  const auto direct = good(head + "machine: {peers: [[cuda:1, cuda:0]]}\n" + rest);
  CHECK(direct.world.copies().are_peers(workload::Location::cuda(0), workload::Location::cuda(1)));
  CHECK(workload::rehearse(direct).answer == workload::Answer::feasible);

  const auto at = [&](const std::string& peers) {
    return found(head + "machine: {peers: " + peers + "}\n" + rest);
  };
  using Found = std::vector<std::string>;
  CHECK(at("[[cuda:0, cuda:1], [cuda:1, cuda:0]]") == Found{"FHR0313@5:37"});
  CHECK(at("[[cuda:0, cuda:0]]") == Found{"FHR0313@5:19"});
  CHECK(at("[[cuda:0]]") == Found{"FHR0313@5:19"});
  CHECK(at("[[cuda:0, pinned-host]]") == Found{"FHR0313@5:19"});
  CHECK(at("[[cuda:0, gpu:1]]") == Found{"FHR0110@5:28"});
  CHECK(at("[cuda:0]") == Found{"FHR0106@5:19"});
  CHECK(at("cuda:0") == Found{"FHR0106@5:18"});
}
