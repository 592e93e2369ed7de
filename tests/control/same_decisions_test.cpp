#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "support/decision_history.hpp"

using namespace fheres;
using fheres::test::DecisionHistory;

TEST_CASE("R60 decisions are the same, byte for byte, in every run and on every emulated driver") {
  std::size_t decisions = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const std::string stepped = DecisionHistory(memory::make_stepped_driver({.seed = seed}), seed).run(80);
    CHECK(DecisionHistory(memory::make_stepped_driver({.seed = seed}), seed).run(80) == stepped);
    CHECK(DecisionHistory(memory::make_stepped_driver({.seed = seed + 99}), seed).run(80) == stepped);
    CHECK(DecisionHistory(memory::make_emulated_driver(), seed).run(80) == stepped);
    for (std::size_t at = stepped.find("\"evictions\": [\n"); at != std::string::npos;
         at = stepped.find("\"evictions\": [\n", at + 1))
      ++decisions;
  }
  CHECK(decisions > 60);  // with evictions
}
