#include <algorithm>
#include <limits>

#include <fheres/compile/diff.hpp>
#include <fheres/compile/fit.hpp>
#include <fheres/scheme/sizes.hpp>
#include <fheres/verify/checks.hpp>
#include <fheres/workload/planned.hpp>
#include <fheres/workload/rehearsal.hpp>
#include <fheres/workload/variants.hpp>

#include "brute_force.hpp"
#include "support/random.hpp"
#include "worlds.hpp"

using namespace fheres;
using memory::Location;
using workload::Selection;

namespace {

constexpr const char* kParameters =
    "parameters: {log_n: 10, q: [60, 40x3], p: [60], scale_bits: 40, security: none}\n";
constexpr Bytes kLimb = 8192;  // of that ring
/// 4 limbs and 4 digits at level 0, one less of each a level.
constexpr Bytes key_bytes(int level) {
  const Bytes limbs = 4 - static_cast<Bytes>(level);
  return 2 * limbs * (limbs + 1) * kLimb;
}

const workload::VariantEvidence& about(const workload::Program& program, const std::string& name) {
  for (const workload::VariantEvidence& item : program.evidence->variants)
    if (item.name == name) return item;
  FAIL("no evidence about " << name);
  return program.evidence->variants.front();
}

std::string chosen(const compile::Compiled& compiled, const std::string& name) {
  return about(compiled.program, name).chosen;
}

void check_sound(const compile::Compiled& compiled, const workload::Workload& workload) {
  const documents::Loaded loaded = documents::load_text(documents::emit(compiled.program), "plan.yaml", ".");
  for (const auto& problem : loaded.diagnostics) FAIL(documents::render(problem, loaded.sources));
  const auto& program = std::get<workload::Program>(*loaded.model);
  const verify::Verification verification = verify::check(program, &workload);
  for (const verify::Violation& violation : verification.violations) MESSAGE(violation.message);
  CHECK(verification.sound());
  const workload::Planned planned = workload::follow(workload, program);
  for (const workload::Problem& problem : planned.problems) MESSAGE(problem.message);
  REQUIRE(planned.workload);
  const workload::Rehearsal rehearsal = workload::rehearse(*planned.workload);
  CHECK(rehearsal.answer == workload::Answer::feasible);
  CHECK(rehearsal.moved_bytes == compiled.program.evidence->moved_bytes);
}

/// A rotation at each of three levels, over and over, with keys that need not fit beside each other.
std::string falling(Bytes budget, const std::string& choose) {
  std::string text =
      kParameters + fmt::format("locations: {{pinned-host: {{}}, cuda:0: {{budget: {}}}}}\n", budget);
  text += "policy: {fallback: {cuda:0: [pinned-host]}}\n" + choose;
  text +=
      "values:\n  x: {ciphertext: {message: {constant: 0.5}}, at: pinned-host, replica: exclusive}\n"
      "  k1: {rotation_key: {steps: 1}, at: pinned-host}\n"
      "  k2: {rotation_key: {steps: 2}, at: pinned-host}\n"
      "stages:\n";
  std::string x = "x";
  for (int level = 0; level < 3; ++level) {
    const auto stage = [&](const char* name, const std::string& body, const std::string& from,
                           const char* to) {
      text += fmt::format(
          "  - {{name: {0}{1}, at: cuda:0, body: [{2}{1}: {3}], outputs: [{2}{1}], release: [{4}]}}\n", name,
          level, to, body, from);
    };
    const std::string r = fmt::format("r{}", level), s = fmt::format("s{}", level);
    stage("a", fmt::format("{{rotate: {}, key: k1}}", x), x, "r");
    stage("b", fmt::format("{{rotate: {}, key: k2}}", r), r, "s");
    stage("c", fmt::format("{{mod_switch: {}}}", s), s, "y");
    x = fmt::format("y{}", level);
  }
  return text;
}

}  // namespace

TEST_CASE("a key is seeded where that moves less, and full where both halves have no room") {
  const std::string values =
      "values:\n  x: {ciphertext: {message: {constant: 0.5}}, at: cuda:0}\n"
      "  k: {rotation_key: {steps: 1, form: auto}, at: pinned-host}\n"
      "stages: [{name: s, at: cuda:0, key_switch: 1, body: [y: {rotate: x, key: k}], outputs: [y]}]\n";
  const auto with = [&](Bytes budget) {
    return test::workload_of(
        kParameters + fmt::format("locations: {{pinned-host: {{}}, cuda:0: {{budget: {}}}}}\n", budget) +
        values);
  };
  const Bytes full = key_bytes(0), seeded = full / 2 + 32;
  const workload::Workload roomy = with(4 * full);
  const compile::Compiled fits = test::compiled(roomy);
  CHECK(chosen(fits, "k") == "seeded");
  CHECK(fits.program.evidence->moved_bytes == seeded);
  CHECK(fits.program.evidence->optimal());
  const workload::VariantEvidence& instead = about(fits.program, "k");
  REQUIRE(instead.instead.size() == 1);
  CHECK(instead.instead[0].variant == "full");
  CHECK(instead.instead[0].moved_bytes == full);
  CHECK(instead.instead[0].lower_bound_bytes == full);
  check_sound(fits, roomy);

  // Ciphertext in and out, workspace, the key: not a byte for its half beside it.
  const Bytes tight = 2 * 8 * kLimb + (4 + 4 * 1 + 2) * kLimb + full;
  const workload::Workload narrow = with(tight);
  const compile::Compiled whole = test::compiled(narrow);
  CHECK(chosen(whole, "k") == "full");
  CHECK(whole.program.evidence->moved_bytes == full);
  CHECK(about(whole.program, "k").instead[0].reason.find("cuda:0") != std::string::npos);
  check_sound(whole, narrow);
  const compile::Outcome none = compile::compile(with(tight - kGranule));
  REQUIRE(std::holds_alternative<compile::Infeasible>(none));
  CHECK(std::get<compile::Infeasible>(none).short_by == kGranule);
}

TEST_CASE("keys used at falling levels become one for each level where they cannot all stay") {
  const std::string form = "choose: [level]\n";
  const Bytes tight = 2 * 8 * kLimb + (4 * 5 + 2) * kLimb + key_bytes(0);
  const workload::Workload narrow = test::workload_of(falling(tight, form));
  const compile::Compiled cut = test::compiled(narrow);
  CHECK(chosen(cut, "k1") == "full-by-level");
  CHECK(chosen(cut, "k2") == "full-by-level");
  check_sound(cut, narrow);
  const workload::Workload without = test::workload_of(falling(tight, ""));
  CHECK(without.questions.empty());
  CHECK(cut.program.evidence->moved_bytes < test::compiled(without).program.evidence->moved_bytes);
  // Where both stay, one key is what moves least.
  const workload::Workload roomy = test::workload_of(falling(6 * key_bytes(0), form));
  const compile::Compiled one = test::compiled(roomy);
  CHECK(chosen(one, "k1") == "full");
  CHECK(chosen(one, "k2") == "full");
  CHECK(one.program.evidence->optimal());
}

TEST_CASE("where keys are held against each other, one relaxation of all variants bounds what any moves") {
  // Eight rotations a level, with a key each, over and over: most of them have to come again, or in pieces.
  constexpr int kKeys = 8;
  std::string text = kParameters + fmt::format("locations: {{pinned-host: {{}}, cuda:0: {{budget: {}}}}}\n",
                                               5 * key_bytes(0) / 2 + (2 * 8 + 4 * 5 + 2) * kLimb);
  text += "policy: {fallback: {cuda:0: [pinned-host]}}\nchoose: [form, level]\nvalues:\n";
  text += "  x0: {ciphertext: {message: {constant: 0.5}}, at: pinned-host, replica: exclusive}\n";
  for (int k = 0; k < kKeys; ++k)
    text += fmt::format("  k{0}: {{rotation_key: {{steps: {1}}}, at: pinned-host}}\n", k, k + 1);
  text += "stages:\n";
  int x = 0;
  for (int level = 0; level < 3; ++level)
    for (int k = 0; k < kKeys; ++k, ++x)
      text += fmt::format(
          "  - {{name: s{0}, at: cuda:0, body: [{1}: {{rotate: x{0}, key: k{2}}}{3}], outputs: [x{4}], "
          "release: [x{0}]}}\n",
          x, k + 1 < kKeys ? fmt::format("x{}", x + 1) : fmt::format("r{}", x), k,
          k + 1 < kKeys ? "" : fmt::format(", x{}: {{mod_switch: r{}}}", x + 1, x), x + 1);
  const workload::Workload workload = test::workload_of(text);
  const compile::Compiled made = test::compiled(workload);
  const workload::Evidence& evidence = *made.program.evidence;
  MESSAGE(evidence.moved_bytes << " moved, bound " << evidence.lower_bound_bytes);
  check_sound(made, workload);
  if (evidence.bound == "lp") CHECK(evidence.moved_bytes * 100 <= evidence.lower_bound_bytes * 114);
}

TEST_CASE("a key switch in groups makes room for a stage that has none otherwise, and only there") {
  const workload::Workload roomy = test::workload_of(falling(6 * key_bytes(0), "choose: [key_switch]\n"));
  const compile::Compiled easy = test::compiled(roomy);
  for (const workload::VariantEvidence& item : easy.program.evidence->variants) CHECK(item.chosen == "whole");
  const Bytes grouped = (4 + 4 * 1 + 2) * kLimb;
  const Bytes least = 2 * 8 * kLimb + grouped + key_bytes(0);
  const workload::Workload narrow = test::workload_of(falling(least, "choose: [key_switch]\n"));
  CHECK(std::holds_alternative<compile::Infeasible>(compile::compile(test::workload_of(falling(least, "")))));
  const compile::Compiled made = test::compiled(narrow);
  CHECK(chosen(made, "a0") == "groups-of-1");
  CHECK(chosen(made, "a2") == "whole");
  check_sound(made, narrow);
  const compile::Outcome none =
      compile::compile(test::workload_of(falling(least - kGranule, "choose: all\n")));
  REQUIRE(std::holds_alternative<compile::Infeasible>(none));
  const auto& infeasible = std::get<compile::Infeasible>(none);
  CHECK(infeasible.stage == "a0");
  CHECK(infeasible.short_by == kGranule);
  CHECK(infeasible.reason.find("whichever variants are chosen") != std::string::npos);
  for (const compile::Line& line : infeasible.lines) CHECK(line.place.known());
}

TEST_CASE("a plaintext is compact on the wire, and encoded again where the host has no room for it") {
  const auto with = [&](Bytes pinned, int plaintexts) {
    std::string text =
        kParameters +
        fmt::format("locations: {{pinned-host: {{budget: {}}}, cuda:0: {{budget: 4 MiB}}}}\n", pinned) +
        "values:\n  x: {ciphertext: {message: {constant: 0.5}}, at: cuda:0}\n";
    for (int i = 0; i < plaintexts; ++i)
      text += fmt::format(
          "  w{}: {{plaintext: {{message: {{constant: 0.5}}, form: auto}}, at: pinned-host}}\n", i);
    text += "stages:\n";
    for (int i = 0; i < plaintexts; ++i)
      text += fmt::format(
          "  - {{name: s{0}, at: cuda:0, body: [y{0}: {{multiply_plain: [x, w{0}]}}], outputs: [y{0}]}}\n",
          i);
    return test::workload_of(text);
  };
  const workload::Workload roomy = with(4 * kLimb, 2);
  const compile::Compiled compact = test::compiled(roomy);
  CHECK(chosen(compact, "w0") == "compact");
  CHECK(compact.program.evidence->moved_bytes == 2 * kLimb);
  CHECK(compact.program.evidence->optimal());
  check_sound(compact, roomy);
  // Six of them do not stay there as words either. Encoding one takes four limbs, so that one other may.
  const workload::Workload narrow = with(5 * kLimb, 6);
  const compile::Compiled encoded = test::compiled(narrow);
  CHECK(encoded.program.evidence->moved_bytes == (5 * 4 + 1) * kLimb);
  check_sound(encoded, narrow);
}

TEST_CASE(
    "of random worlds with variants the bound is above no combination, and what is chosen is best or near "
    "it") {
  const std::uint64_t seed = test::test_seed(71);
  test::Random random(seed);
  std::size_t plans = 0, optimal = 0, proven = 0, infeasible = 0, unknown = 0;
  for (int world = 0; world < 14; ++world) {
    CAPTURE(seed);
    CAPTURE(world);
    const bool levels = random.chance(2);
    const bool groups = !levels && random.chance(2);
    const char* choose = levels   ? "choose: [form, level]\n"
                         : groups ? "choose: [form, key_switch]\n"
                                  : "choose: [form]\n";
    std::string text = kParameters;
    text += fmt::format("locations: {{pinned-host: {{}}, cuda:0: {{budget: {}}}}}\n",
                        (30 + random.below(90)) * kLimb);
    text += std::string("policy: {fallback: {cuda:0: [pinned-host]}}\n") + choose;
    text +=
        "values:\n  x: {ciphertext: {message: {constant: 0.5}, level: 1}, at: pinned-host, replica: "
        "exclusive}\n";
    const bool pinned = levels || groups;  // the form of the second, so that there are few combinations
    text += fmt::format("  k1: {{rotation_key: {{steps: 1}}, at: {}}}\n",
                        random.chance(4) ? "cuda:0" : "pinned-host");
    text += fmt::format("  k2: {{rotation_key: {{steps: 2{}}}, at: pinned-host}}\n",
                        pinned ? ", form: full, level: 1" : "");
    text += "stages:\n";
    std::string x = "x";
    const int stages = 3;
    int level = 1;
    for (int s = 0; s < stages; ++s) {
      const bool down = level < 3 && random.chance(2);
      text += fmt::format(
          "  - {{name: s{0}, at: cuda:0, body: [r{0}: {{rotate: {1}, key: k{2}}}{3}], outputs: [{4}{0}], "
          "release: [{1}]{5}}}\n",
          s, x, 1 + random.below(2), down ? fmt::format(", y{0}: {{mod_switch: r{0}}}", s) : "",
          down ? "y" : "r", groups && s > 0 ? ", key_switch: whole" : "");
      x = fmt::format("{}{}", down ? "y" : "r", s);
      level += down ? 1 : 0;
    }
    const workload::Workload workload = test::workload_of(text);
    CAPTURE(text);
    // Every combination, by brute force.
    constexpr Bytes kNone = std::numeric_limits<Bytes>::max();
    Bytes fewest = kNone, compiled_alone = kNone;
    std::vector<std::vector<Bytes>> fewest_with;
    for (const workload::Question& question : workload.questions)
      fewest_with.emplace_back(question.variants.size(), kNone);
    Selection selection(workload.questions.size(), 0);
    for (bool more = true; more;) {
      workload::Workload settled = workload::select(workload, selection);
      settled.questions.clear();
      const Bytes bytes = test::fewest_bytes(settled).value_or(kNone);
      const compile::Outcome alone = compile::compile(settled);
      if (const auto* plan = std::get_if<compile::Compiled>(&alone))
        compiled_alone = std::min(compiled_alone, plan->program.evidence->moved_bytes);
      fewest = std::min(fewest, bytes);
      for (std::size_t q = 0; q < selection.size(); ++q)
        fewest_with[q][selection[q]] = std::min(fewest_with[q][selection[q]], bytes);
      more = false;
      for (std::size_t q = 0; q < selection.size() && !more; ++q) {
        selection[q] = (selection[q] + 1) % workload.questions[q].variants.size();
        more = selection[q] != 0;
      }
    }
    const compile::Outcome outcome = compile::compile(workload);
    if (std::holds_alternative<compile::Infeasible>(outcome)) {
      ++infeasible;
      CHECK(fewest == kNone);
      continue;
    }
    const auto* made = std::get_if<compile::Compiled>(&outcome);
    if (made == nullptr) {
      unknown += fewest == kNone ? 0 : 1;
      continue;
    }
    ++plans;
    const workload::Evidence& evidence = *made->program.evidence;
    REQUIRE(fewest != kNone);
    CHECK(evidence.lower_bound_bytes <= fewest);
    CHECK(evidence.moved_bytes >= fewest);
    CHECK(evidence.moved_bytes <= compiled_alone);
    optimal += evidence.moved_bytes == fewest ? 1 : 0;
    proven += evidence.optimal() ? 1 : 0;
    CHECK(evidence.variants.size() == workload.questions.size());
    for (std::size_t q = 0; q < evidence.variants.size(); ++q) {
      const auto& names = workload.questions[q].variants;
      for (const auto& other : evidence.variants[q].instead) {
        const auto k =
            static_cast<std::size_t>(std::find(names.begin(), names.end(), other.variant) - names.begin());
        REQUIRE(k < names.size());
        CHECK(other.lower_bound_bytes <= fewest_with[q][k]);
        if (other.moved_bytes) CHECK(*other.moved_bytes >= fewest_with[q][k]);
      }
    }
    check_sound(*made, workload);
  }
  MESSAGE(plans << " plans, " << optimal << " optimal, " << proven << " proven, " << infeasible
                << " infeasible, " << unknown << " without an answer");
  CHECK(plans >= 5);
  // Brute force also keeps halves of keys on the device, which no plan of the compiler does.
  CHECK(optimal * 10 >= plans * 6);
}

TEST_CASE("fit finds the smallest budget over all variants, and proves less too small for all of them") {
  const Bytes least = 2 * 8 * kLimb + (4 + 4 * 1 + 2) * kLimb + key_bytes(0);
  const auto fitted = compile::fit(test::workload_of(falling(1 << 20, "choose: all\n")), Location::cuda(0));
  const auto* fit = std::get_if<compile::Fit>(&fitted);
  REQUIRE(fit != nullptr);
  CHECK(fit->smallest == least);
  CHECK(fit->closed());
}

TEST_CASE("minimize time chooses the variants that the machine runs fastest") {
  workload::Machine machine = workload::default_machine();
  compile::CompileOptions options;
  options.machine = machine;
  options.minimize = compile::CompileOptions::Minimize::time;
  const Bytes tight = 2 * 8 * kLimb + (4 * 5 + 2) * kLimb + key_bytes(0);
  const workload::Workload workload = test::workload_of(falling(tight, "choose: [level]\n"));
  const compile::Compiled fastest = test::compiled(workload, options);
  REQUIRE(fastest.program.evidence->time);
  for (const workload::VariantEvidence& item : fastest.program.evidence->variants)
    for (const auto& other : item.instead)
      if (other.predicted_ns) CHECK(*other.predicted_ns >= fastest.program.evidence->time->predicted_ns);
  check_sound(fastest, workload);
}

TEST_CASE(
    "equal workloads with variants give the same plan, byte for byte, and a diff says which variant "
    "changed") {
  const Bytes tight = 2 * 8 * kLimb + (4 * 5 + 2) * kLimb + key_bytes(0);
  const workload::Workload workload = test::workload_of(falling(tight, "choose: all\n"));
  const compile::Compiled a = test::compiled(workload), b = test::compiled(workload);
  CHECK(documents::emit(a.program) == documents::emit(b.program));
  workload::Workload roomy = workload;
  roomy.world.set_budget(Location::cuda(0), 10 * key_bytes(0));
  const compile::Compiled other = test::compiled(roomy);
  const compile::Diff diff =
      compile::diff(compile::movements_of(a.program), compile::movements_of(other.program));
  CHECK(std::any_of(diff.differences.begin(), diff.differences.end(), [](const compile::Difference& item) {
    return item.what.find("variant seeded, was ") != std::string::npos;
  }));
}

TEST_CASE("a plan whose variant does not exist, or has other bytes, is found out") {
  const workload::Workload workload = test::workload_of(falling(6 * key_bytes(0), "choose: [form]\n"));
  const workload::Program good = test::compiled(workload).program;
  const auto value = good.world.find("k1");
  REQUIRE(value);
  workload::Program damaged = good;
  damaged.world.values[*value].variant = "prepared";
  CHECK_FALSE(verify::check(damaged, &workload).sound());
  const workload::Planned planned = workload::follow(workload, damaged);
  REQUIRE(planned.problems.size() == 1);
  CHECK(planned.problems[0].code == "FHR0523");
  damaged = good;
  damaged.world.values[*value].variant = "full";  // with the bytes and the backing of the seeded one
  CHECK_FALSE(verify::check(damaged, &workload).sound());
  CHECK_FALSE(workload::follow(workload, damaged).workload.has_value());
  damaged = good;
  damaged.evidence->variants.pop_back();
  CHECK_FALSE(verify::check(damaged, &workload).sound());
  damaged = good;
  damaged.evidence->variants[0].chosen = "full";
  CHECK_FALSE(verify::check(damaged, nullptr).sound());
}
