#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "lockstep/sequence.hpp"

using namespace fheres::lockstep;

namespace {

// What a sanitizer that ends the process should tell of the sequence.
std::uint64_t running_seed = 0;

std::uint64_t from_environment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::string report(const Sequence& failing, const std::string& failure) {
  const Sequence shortest = shrink(failing);
  std::vector<std::string> log;
  const std::optional<std::string> last = run_sequence(shortest, nullptr, &log);
  std::string text = fmt::format("{}\nreplay: FHERES_LOCKSTEP_SEED={}\n{} of {} operations still fail: {}\n",
                                 failure, failing.seed, shortest.operations.size(), failing.operations.size(),
                                 last.value_or("not any more"));
  for (const std::string& line : log) text += "  " + line + "\n";
  return text;
}

}  // namespace

extern "C" void __asan_on_error() {
  std::fprintf(stderr, "lockstep: FHERES_LOCKSTEP_SEED=%llu\n",
               static_cast<unsigned long long>(running_seed));
}

TEST_CASE(
    "manager, state and rules stay in step: R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15 R16 R17 R18 R19 "
    "R20 R21 R22 R23 R24 R25 R26 R27 R29 R30 R31 R32 R33 R35 R36 R37 R38 R39 R40 R41 R42 R43 R44 "
    "R45 R46 R47 R48 R49 R50 R51 R63 R64") {
  const char* one = std::getenv("FHERES_LOCKSTEP_SEED");
  const std::uint64_t first = from_environment("FHERES_LOCKSTEP_SEED", 1);
  const std::uint64_t sequences = one != nullptr ? 1 : from_environment("FHERES_LOCKSTEP_SEQUENCES", 10'000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    running_seed = seed;
    const Sequence sequence = draw_sequence(seed);
    if (const std::optional<std::string> failure = run_sequence(sequence, &counts)) {
      FAIL(report(sequence, *failure));
    }
  }
  if (one != nullptr || sequences < 1'000) return;
  const std::string compacting =
      fmt::format("{} of {} sequences compact, {} operations do", counts.compacted, sequences, counts.slides);
  INFO(compacting);
  if (std::getenv("FHERES_LOCKSTEP_COUNTS") != nullptr) fmt::print("{}\n", compacting);
  CHECK(counts.compacted > sequences / 5);
  // A harness that draws nothing but refusals would agree with everything.
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const World::Count& count = counts.kinds[static_cast<Kind>(kind)];
    INFO(fmt::format("{}: {} done, {} refused, {} failed", name(static_cast<Kind>(kind)), count.done,
                     count.refused, count.failed));
    if (std::getenv("FHERES_LOCKSTEP_COUNTS") != nullptr) {
      fmt::print("{:24} {:8} done {:8} refused {:8} failed\n", name(static_cast<Kind>(kind)), count.done,
                 count.refused, count.failed);
    }
    if (static_cast<Kind>(kind) == Kind::refused_close) {
      CHECK(count.refused > 0);
    } else {
      CHECK(count.done > sequences / 50);
    }
  }
}
