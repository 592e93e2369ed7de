#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>

using namespace fheres::documents;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One answer, and never an exception: a model or diagnostics that point into the text.
void check_answer(const std::string& text) {
  const Loaded loaded = load_text(text, "h.yaml", "samples");
  REQUIRE(loaded.model.has_value() == loaded.diagnostics.empty());
  for (const Diagnostic& d : loaded.diagnostics) {
    REQUIRE_FALSE(meaning(d.code).empty());
    REQUIRE_FALSE(d.message.empty());
    REQUIRE(d.message.find('\n') == std::string::npos);
    REQUIRE(render(d, loaded.sources).size() < 5000);
  }
}

std::string first_code(const std::string& text) {
  const Loaded loaded = load_text(text, "h.yaml", ".");
  REQUIRE_FALSE(loaded.diagnostics.empty());
  return loaded.diagnostics.front().code;
}

const std::string kHostileHead = "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: t}\n";

}  // namespace

TEST_CASE("a file above the limit is refused before it is parsed") {
  CHECK(first_code(std::string(16 * 1024 * 1024 + 1, ' ')) == "FHR0002");
}

TEST_CASE("what ranges of diagonals stand for is bounded") {
  std::string text = kHostileHead + "stages: [{name: s, at: cuda:0, body: [\n";
  for (int i = 0; i < 8; ++i)
    text += "  {y" + std::to_string(i) + ": {linear_transform: x, diagonals: {-131072..131072: d*}}},\n";
  const Loaded loaded = load_text(text + "]}]\n", "h.yaml", ".");
  CHECK(std::ranges::count(loaded.diagnostics, "FHR0002", &Diagnostic::code) > 0);
}

TEST_CASE("depth, aliases and nodes are bounded while parsing") {
  CHECK(first_code(std::string(100000, '[')) == "FHR0003");
  std::string map;
  for (int i = 0; i < 100; ++i) map += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(first_code(map) == "FHR0003");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  CHECK(first_code(bomb) == "FHR0004");
  std::string many = "[";
  for (int i = 0; i < 1'000'001; ++i) many += "1,";
  CHECK(first_code(many + "1]") == "FHR0002");
}

TEST_CASE("what one line has is bounded before the parser holds all of it") {
  CHECK(first_code(std::string(16'000'000, '[')) == "FHR0003");
  CHECK(first_code(kHostileHead + "values: " + std::string(1001, '{')) == "FHR0003");
  CHECK(first_code(std::string(16'000'000, '"')) == "FHR0002");
  std::string list = "[";
  for (int i = 0; i < 2'000'000; ++i) list += "1,";
  CHECK(first_code(list + "1]") == "FHR0002");
  const Loaded loaded = load_text(kHostileHead + "values:\n  [" + std::string(2'000'000, ','), "h.yaml", ".");
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK(loaded.diagnostics.front().place.line == 5);
}

TEST_CASE("more problems than anybody reads are cut off, and said to be") {
  std::string text = kHostileHead;
  for (int i = 0; i < 5000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const Loaded loaded = load_text(text, "h.yaml", ".");
  REQUIRE(loaded.diagnostics.size() == 1001);
  CHECK(loaded.diagnostics.back().code == "FHR0007");
}

TEST_CASE("sizes that could overflow an account are refused") {
  std::string text = kHostileHead + "values:\n";
  for (int i = 0; i < 3; ++i) text += "  v" + std::to_string(i) + ": {bytes: 8000 TiB, at: pinned-host}\n";
  CHECK(first_code(text + "stages: [{name: s, require: {cuda:0: [v0]}}]\n") == "FHR0109");
}

TEST_CASE("very long names and texts do not make long messages") {
  const std::string big(1 << 20, 'q');
  check_answer(kHostileHead + big + ": 1\nstages: []\n");
  check_answer(kHostileHead + "values: {" + big + ": {bytes: 1, at: cuda:0}}\nstages: []\n");
  check_answer(kHostileHead + "values: {a: {bytes: " + big + ", at: " + big + "}}\nstages: [{name: s, " +
               big + ": 1}]\n");
  check_answer(kHostileHead + "parameters: {preset: " + big + "}\nstages: [{name: s, body: [{a: {" + big +
               ": b}}]}]\n");
}

TEST_CASE("shipped documents with random damage get an answer and nothing else") {
  const std::uint64_t seed = 20;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::string pool = "{}[]:,&*!|>'\"%@`#-?\n \t0123456789abcxyz~\xc3\xa4\xff";
  for (const char* path : {"samples/automatic-rotate-scale.yaml", "samples/explicit-tiles.yaml",
                           "plans/two-tiles.yaml", "samples/automatic-rotate-scale.request.yaml"}) {
    const std::string original = contents(path);
    REQUIRE_FALSE(original.empty());
    for (int round = 0; round < 300; ++round) {
      std::string text = original;
      const int edits = 1 + static_cast<int>(random() % 4);
      for (int i = 0; i < edits && !text.empty(); ++i) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
          case 0:
            text[at] = pool[random() % pool.size()];
            break;
          case 1:
            text.insert(at, 1, pool[random() % pool.size()]);
            break;
          case 2:
            text.erase(at, 1 + random() % 20);
            break;
          default:
            text.insert(at, text.substr(random() % text.size(), random() % 60));
        }
      }
      CAPTURE(text);
      check_answer(text);
    }
  }
}
