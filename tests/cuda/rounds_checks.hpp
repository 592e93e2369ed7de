#pragma once

#include <doctest/doctest.h>

#include "cuda/stream_rounds.hpp"

namespace fheres::test {

/// Nothing went wrong, and a test in which nothing could have gone wrong is none.
inline void check_rounds(const RoundsReport& report, const RoundsOptions& options) {
  for (const std::string& line : report.first) CHECK_MESSAGE(false, line);
  CHECK(report.wrong_sums == 0);
  CHECK(report.freed_early == 0);
  CHECK(report.gates_missed == 0);
  CHECK(report.readers == 2 * static_cast<std::uint64_t>(options.rounds));
  CHECK(report.attempts == report.refused);
  const auto rounds = static_cast<std::uint64_t>(options.rounds);
  if (options.gates) CHECK(report.refused > rounds / 4);
  CHECK(report.prefetches > rounds / 8);
  CHECK(report.device_waits > rounds / 40);
  CHECK(report.compacted > rounds / 40 * options.unit);
  CHECK(report.overwritten > rounds * options.unit);
}

/// Readers that nothing protects are found out by what they read.
inline void check_fault(const RoundsReport& report) {
  CHECK(report.wrong_sums > report.readers / 20);
  CHECK(report.freed_early > 0);
}

}  // namespace fheres::test
