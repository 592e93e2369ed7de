// What long documents cost, counted in bytes that are allocated: not in time, which hangs on the machine.
#include <atomic>
#include <cstdlib>
#include <new>

#include <doctest/doctest.h>

#include <fheres/documents/load.hpp>
#include <fheres/workload/rehearsal.hpp>

namespace {
std::atomic<std::uint64_t> allocated{0};
}

void* operator new(std::size_t bytes) {
  allocated += bytes;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace fheres;

namespace {

std::string number(int i) { return std::to_string(i); }

/// Each stage needs two of the values, and evicts others.
std::string under_pressure(int count) {
  return "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: t}\n"
         "locations: {pinned-host: {budget: 100 GiB}, cuda:0: {budget: 16 MiB}}\n"
         "policy: {fallback: {cuda:0: [pinned-host]}}\n"
         "values:\n  w${t}: {for: {t: 0.." +
         number(count - 1) +
         "}, bytes: 1 MiB, at: pinned-host}\nstages:\n  - {name: \"s${t}\", for: {t: 0.." +
         number(count - 1) + "}, require: {cuda:0: [\"w${t}\", \"w${(t*7919+1)%" + number(count) + "}\"]}}\n";
}

std::string plan(int count) {
  return "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: t}\n"
         "locations: {pinned-host: {budget: 100 GiB}, cuda:0: {budget: 16 MiB}}\n"
         "values:\n  w${t}: {for: {t: 0.." +
         number(count - 1) + "}, bytes: 1 MiB, at: pinned-host}\nstages:\n  - name: s${t}\n    for: {t: 0.." +
         number(count - 1) +
         "}\n    enter: [{ensure: \"w${t}\", at: cuda:0}]\n    exit: [{drop: \"w${t}\", at: cuda:0}]\n";
}

/// One stage of so many actions.
std::string actions(int count) {
  std::string text =
      "apiVersion: fheres/v1\nkind: Plan\nmetadata: {name: t}\nlocations: {cuda:0: {budget: 100 GiB}}\n"
      "values:\n  w${t}: {for: {t: 0.." +
      number(count - 1) + "}, bytes: 1 MiB, at: pinned-host}\nstages:\n  - name: all\n    enter:\n";
  for (int i = 0; i < count; ++i) text += "      - {ensure: w" + number(i) + ", at: cuda:0}\n";
  return text;
}

/// One request that makes room for half of the values.
std::string request(int count) {
  const std::string half = number(count / 2 - 1);
  std::string text =
      "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: t}\nlocations: {cuda:0: {budget: " +
      number(count / 2) +
      " MiB}}\npolicy: {fallback: {cuda:0: [pageable-host]}}\nvalues:\n  c${t}: {for: {t: 0.." + half +
      "}, bytes: 1 MiB, at: cuda:0}\n  w${t}: {for: {t: 0.." + half +
      "}, bytes: 1 MiB, at: pageable-host}\nstages:\n  - name: all\n    require:\n      cuda:0: [w0";
  for (int i = 1; i < count / 2; ++i) text += ", w" + number(i);
  return text + "]\n";
}

struct Cost {
  double load = 0, explain = 0;
};

Cost cost_of(const std::string& text) {
  const std::uint64_t before = allocated;
  const documents::Loaded loaded = documents::load_text(text, "t.yaml", ".");
  for (const auto& d : loaded.diagnostics) FAIL(documents::render(d, loaded.sources));
  const std::uint64_t read = allocated;
  const workload::Rehearsal rehearsal = std::holds_alternative<workload::Program>(*loaded.model)
                                            ? workload::rehearse(std::get<workload::Program>(*loaded.model))
                                            : workload::rehearse(std::get<workload::Workload>(*loaded.model));
  CHECK(rehearsal.answer == workload::Answer::feasible);
  return {static_cast<double>(read - before), static_cast<double>(allocated - read)};
}

}  // namespace

TEST_CASE("twice the stages, values or actions cost little more than twice the work") {
  for (const auto& make : {under_pressure, plan, actions, request}) {
    const Cost once = cost_of(make(600));
    const Cost twice = cost_of(make(1200));
    CAPTURE(make(2));
    CAPTURE(once.load);
    CAPTURE(once.explain);
    CHECK(twice.load < 2.6 * once.load);
    CHECK(twice.explain < 2.8 * once.explain);
  }
}
