#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>

using namespace fheres;
using namespace fheres::documents;

namespace {

const std::string kValuesHead = "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: t}\nvalues:\n";
const std::string kStage = "stages: [{name: s, require: {cuda:0: [a]}}]\n";

Loaded read(const std::string& text) { return load_text(text, "t.yaml", "."); }

std::vector<std::string> names(const std::string& values) {
  const Loaded loaded = read(kValuesHead + "  a: {bytes: 1, at: pinned-host}\n" + values + kStage);
  for (const Diagnostic& d : loaded.diagnostics) FAIL(render(d, loaded.sources));
  std::vector<std::string> result;
  for (const workload::Value& value : std::get<workload::Workload>(*loaded.model).world.values)
    result.push_back(value.name.text);
  result.erase(result.begin());
  return result;
}

std::vector<Diagnostic> problems(const std::string& values) {
  const Loaded loaded = read(kValuesHead + "  a: {bytes: 1, at: pinned-host}\n" + values + kStage);
  for (const Diagnostic& d : loaded.diagnostics) CHECK_FALSE(meaning(d.code).empty());
  return loaded.diagnostics;
}

/// The value of an expression where t = 5 and u = -3.
std::string value_of(const std::string& expression) {
  const auto made =
      names("  v${" + expression + "}: {for: {t: 5..5, u: -3..-3}, bytes: 1, at: pinned-host}\n");
  REQUIRE(made.size() == 1);
  return made[0].substr(1);
}

std::string code_of(const std::string& expression) {
  const auto found =
      problems("  v${" + expression + "}: {for: {t: 5..5, u: -3..-3}, bytes: 1, at: pinned-host}\n");
  return found.empty() ? "" : found[0].code;
}

}  // namespace

TEST_CASE("an entry with a `for` stands for one of each value, the last variable running fastest") {
  CHECK(names("  w${t}: {for: {t: 2..4}, bytes: 1, at: pinned-host}\n") ==
        std::vector<std::string>{"w2", "w3", "w4"});
  CHECK(names("  w${i}-${j}: {for: {i: [7, 1], j: -1..0}, bytes: 1, at: pinned-host}\n") ==
        std::vector<std::string>{"w7--1", "w7-0", "w1--1", "w1-0"});
}

TEST_CASE("expressions follow the usual precedence, and division rounds down") {
  CHECK(value_of("t*64+1") == "321");
  CHECK(value_of(" 1 + 2 * 3 ") == "7");
  CHECK(value_of("(1+2)*3") == "9");
  CHECK(value_of("10-3-2") == "5");
  CHECK(value_of("100/7/2") == "7");
  CHECK(value_of("-t - -u") == "-8");
  CHECK(value_of("7/2") == "3");
  CHECK(value_of("-7/2") == "-4");
  CHECK(value_of("-7%3") == "2");
  CHECK(value_of("7%-3") == "-2");
  CHECK(value_of("(t-6)%16") == "15");
  CHECK(value_of("9223372036854775807") == "9223372036854775807");
  CHECK(value_of("0-9223372036854775807-1") == "-9223372036854775808");
  CHECK(value_of("(0-9223372036854775807-1)%-1") == "0");
}

TEST_CASE("random expressions agree with 128-bit arithmetic") {
  const std::uint64_t seed = 8;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    const auto a = static_cast<std::int64_t>(random() % 2000) - 1000;
    const auto b = static_cast<std::int64_t>(random() % 50) - 25;
    const auto c = static_cast<std::int64_t>(random() >> 40);
    if (b == 0) continue;
    const std::string text = "(" + std::to_string(a) + ")/(" + std::to_string(b) + ")*" + std::to_string(c) +
                             "+(" + std::to_string(a) + "%" + std::to_string(b) + ")";
    CAPTURE(text);
    __int128 quotient = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
      quotient -= 1;
      rest += b;
    }
    CHECK(value_of(text) == std::to_string(static_cast<std::int64_t>(quotient * c + rest)));
  }
}

TEST_CASE("expressions that cannot be read, or have no value, are refused") {
  for (const char* broken : {"", "t+", "(t", "t)", "2t", "t t", "*3", "1.5", "t^2", "0x10", "%"}) {
    CAPTURE(broken);
    CHECK(code_of(broken) == "FHR0602");
  }
  CHECK(code_of(std::string(100, '(') + "1" + std::string(100, ')')) == "FHR0602");
  for (const char* unknown : {"s", "tt", "T"}) CHECK(code_of(unknown) == "FHR0603");
  for (const char* over :
       {"9223372036854775808", "9223372036854775807+1", "0-9223372036854775807-2", "t/0", "t%(t-5)",
        "4611686018427387904*2", "(0-9223372036854775807-1)/-1", "-(0-9223372036854775807-1)"}) {
    CAPTURE(over);
    CHECK(code_of(over) == "FHR0604");
  }
  CHECK(problems("  \"v${t\": {for: {t: 0..1}, bytes: 1, at: pinned-host}\n")[0].code == "FHR0602");
}

TEST_CASE("expressions work in names, steps, sizes, levels, locations and references, quoted or not") {
  const Loaded loaded = read(R"(apiVersion: fheres/v1
kind: Workload
metadata: {name: t}
parameters: {preset: slots8192-scale40-levels7}
values:
  x${t}: {for: {t: 0..2}, ciphertext: {message: {constant: "0.${t+1}"}, level: "${t}"}, at: "cuda:${t%2}"}
  k${t}:
    for: {t: 1..2}
    rotation_key: {steps: "${t*64+1}"}
    at: pageable-host
  b${t}: {for: {t: 1..2}, bytes: "${t*2} KiB", at: pinned-host}
stages:
  - name: turn-${t}
    for: {t: 1..2}
    at: cuda:${t}
    body:
      - y${t}: {rotate: "x${t}", key: "k${t}"}
    outputs: {"y${t}": {}}
    reserve: [{at: "cuda:${t}", bytes: "${16*t} MiB", label: "room-${t}"}]
    release: b${3-t}
)");
  for (const Diagnostic& d : loaded.diagnostics) FAIL(render(d, loaded.sources));
  const auto& model = std::get<workload::Workload>(*loaded.model);
  const auto value = [&](const char* name) -> const workload::Value& {
    return model.world.values[*model.world.find(name)];
  };
  CHECK(std::get<workload::ConstantMessage>(*value("x2").message).value == 0.3);
  CHECK(value("x2").type->level == 2);
  CHECK(value("x1").at.front() == workload::Location::cuda(1));
  CHECK(value("k2").type->steps == 129);
  CHECK(value("b2").spec.logical_bytes == 4 * kKiB);
  REQUIRE(model.stages.size() == 2);
  CHECK(model.stages[1].name.text == "turn-2");
  CHECK(model.stages[1].reserve[0].spec.bytes == 32 * kMiB);
  CHECK(model.stages[1].reserve[0].spec.label == "room-2");
  CHECK(model.world.values[model.stages[0].release[0].index].name.text == "b2");
}

TEST_CASE("a diagnostic of an item points at the user's line and says which item") {
  const auto found = problems("  w${t}: {for: {t: 0..3}, bytes: \"${t-1}\", at: pinned-host}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].place.line == 6);
  CHECK(found[0].place.column == 34);
  CHECK(found[0].message.ends_with("(t = 0)"));
  const auto many = problems("  w${t}: {for: {t: 8..12, u: 1..2}, bytes: huge, at: pinned-host}\n");
  REQUIRE(many.size() == 2);  // w8 to w12 are each there for two values of u
  CHECK(many[0].message.ends_with("(t = 8, u = 2, and for 4 more)"));
  CHECK(many[0].code == "FHR0302");
  CHECK(many[1].message.ends_with("(t = 8, u = 1, and for 9 more)"));
}

TEST_CASE("one name for all items is refused, with what to do") {
  const auto found = problems("  w: {for: {t: 0..3}, bytes: 1, at: pinned-host}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "FHR0302");
  CHECK(found[0].message == "`w` is defined twice: first at line 6 (t = 0) (t = 1, and for 2 more)");
  CHECK(found[0].hint.find("${t}") != std::string::npos);
}

TEST_CASE("keys that items make equal are refused") {
  const Loaded loaded = read(kValuesHead +
                             "  a: {bytes: 1, at: pinned-host}\nstages:\n  - name: s\n    for: {t: 0..1}\n"
                             "    require: {\"cuda:${t}\": [a], cuda:1: [a]}\n");
  REQUIRE(loaded.diagnostics.size() == 1);
  CHECK(loaded.diagnostics[0].code == "FHR0104");
  CHECK(loaded.diagnostics[0].message == "key `cuda:1` stands twice (t = 1)");
}

TEST_CASE("a bad `for` is refused, and names that it would have made are not reported as unknown") {
  for (const char* bad :
       {"3", "[0..3]", "{}", "{t: 3}", "{t: 0...3}", "{t: 3..0}", "{t: []}", "{t: [x]}", "{2t: 0..1}",
        "{t: 0..9223372036854775808}",
        "{a: 0..0, b: 0..0, c: 0..0, d: 0..0, e: 0..0, f: 0..0, g: 0..0, h: 0..0, i: 0..0}"}) {
    CAPTURE(bad);
    const Loaded loaded = read(kValuesHead + "  w${t}: {for: " + bad + ", bytes: 1, at: pinned-host}\n" +
                               "stages: [{name: s, require: {cuda:0: [w1]}}]\n");
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics[0].code == "FHR0601");
  }
}

TEST_CASE("an expression outside of a `for` is refused, with what to do") {
  const auto found = problems("  w${t}: {bytes: 1, at: pinned-host}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "FHR0603");
  CHECK(found[0].hint.find("for: {") != std::string::npos);
}

TEST_CASE("braces that end a plain text early are refused, with the cure") {
  const Loaded loaded = read(kValuesHead + "  a: {bytes: 1, at: pinned-host}\nstages:\n  - name: s\n" +
                             "    for: {t: 0..1}\n    require: {cuda:0: [a${t}]}\n");
  REQUIRE_FALSE(loaded.diagnostics.empty());
  CHECK(loaded.diagnostics[0].code == "FHR0005");
  CHECK(loaded.diagnostics[0].hint.find("quotes") != std::string::npos);
}

TEST_CASE("the number of items, their nodes and their texts are bounded over the whole document") {
  const auto code = [](const std::string& loop, const std::string& key = "w${t}") {
    const auto found = problems("  " + key + ": {for: " + loop + ", bytes: 1, at: pinned-host}\n");
    return found.empty() ? "" : found[0].code;
  };
  CHECK(code("{t: 1..1000001}") == "FHR0605");
  CHECK(code("{t: 0..9223372036854775807, u: 0..9223372036854775807}") == "FHR0605");
  CHECK(code("{t: -9223372036854775807..9223372036854775807}") == "FHR0605");
  CHECK(code("{t: 1..1000, u: 1..1000}") == "FHR0605");  // items are few enough, their nodes are not
  CHECK(code("{t: 1..100000}", std::string(1000, 'w') + "${t}") == "FHR0605");
  std::string list = "[";
  for (int i = 0; i < 5000; ++i) list += "1, ";
  const std::string many =
      ": {for: {t: 1..120}, plaintext: {message: {list: " + list + "1]}}, at: pinned-host}\n";
  const auto both = problems("  w${t}" + many + "  v${t}" + many);
  CHECK(std::any_of(both.begin(), both.end(),
                    [](const Diagnostic& d) { return d.code == "FHR0605" && d.place.line == 7; }));
}

TEST_CASE("Plans and Requests expand as well") {
  const Loaded plan = read(R"(apiVersion: fheres/v1
kind: Plan
metadata: {name: t}
values: {"w${t}": {for: {t: 0..1}, bytes: 1 KiB, at: pinned-host}}
stages:
  - name: tile-${t}
    for: {t: 0..1}
    enter: [{ensure: "w${t}", at: cuda:0}]
    exit: [{drop: "w${t}", at: cuda:0}]
)");
  for (const Diagnostic& d : plan.diagnostics) FAIL(render(d, plan.sources));
  CHECK(std::get<workload::Program>(*plan.model).stages.size() == 2);
  const Loaded requests = read(R"(apiVersion: fheres/v1
kind: Request
metadata: {name: t}
values: {"w${t}": {for: {t: 0..1}, bytes: 1 KiB, at: pinned-host}}
requests:
  - {name: "tile-${t}", for: {t: 0..1}, require: {cuda:0: "w${t}"}}
)");
  for (const Diagnostic& d : requests.diagnostics) FAIL(render(d, requests.sources));
  CHECK(std::get<workload::RequestSet>(*requests.model).requests.size() == 2);
}

TEST_CASE("a group of stages is repeated together, with the variables of the groups around it") {
  const std::string head =
      kValuesHead + "  a: {bytes: 1, at: pinned-host}\n  b: {bytes: 1, at: pinned-host}\n";
  const auto stages = [&](const std::string& text) {
    const Loaded loaded = read(head + "stages:\n" + text);
    for (const Diagnostic& d : loaded.diagnostics) FAIL(render(d, loaded.sources));
    std::string result;
    for (const workload::Stage& stage : std::get<workload::Workload>(*loaded.model).stages)
      result += stage.name.text + " ";
    return result;
  };
  const std::string need = ", require: {cuda:0: [a]}}\n";
  CHECK(stages("  - {name: first" + need +
               "  - for: {i: 0..1}\n"
               "    stages:\n"
               "      - {name: \"one-${i}\"" +
               need + "      - {name: \"two-${i}-${k+i}\", for: {k: 3..4}" + need +
               "      - for: {k: [7]}\n"
               "        stages: [{name: \"three-${i*k}\"" +
               need.substr(0, need.size() - 1) +
               "]\n"
               "  - {name: last" +
               need) == "first one-0 two-0-3 two-0-4 three-0 one-1 two-1-4 two-1-5 three-7 last ");

  const auto wrong = [&](const std::string& text) {
    const Loaded loaded = read(head + "stages:\n" + text);
    REQUIRE_FALSE(loaded.diagnostics.empty());
    CHECK_FALSE(loaded.model);
    return loaded.diagnostics.front().code + ": " + loaded.diagnostics.front().message;
  };
  CHECK(wrong("  - {stages: [{name: s" + need.substr(0, need.size() - 1) + "]}\n") ==
        "FHR0105: a group of stages has no `for`");
  CHECK(wrong("  - {for: {i: 0..1}, stages: []}\n") ==
        "FHR0106: stages is empty, expected a list of at least one");
  CHECK(wrong("  - {for: {i: 0..1}, at: cuda:0, stages: [{name: \"s${i}\"" + need.substr(0, need.size() - 1) +
              "]}\n") == "FHR0103: a group of stages has no key `at`, only `for` and `stages`");
  CHECK(wrong("  - {for: {i: 0..1}, stages: [{name: \"s${i}\", for: {i: 0..1}" +
              need.substr(0, need.size() - 1) + "]}\n") ==
        "FHR0601: `i` is a variable of the group around it already");
}
