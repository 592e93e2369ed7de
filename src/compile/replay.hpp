#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/residency/state.hpp>
#include <fheres/workload/evidence.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::compile {

/// A program run through residency::State and the arenas in the exact order of run time: initial placement, then every
/// stage, then what it releases. Keeps no explanation, so that it costs what the actions cost; the figures are those of
/// workload::rehearse, and a test holds that.
struct Replay {
  bool feasible = false;
  std::string reason;                         // the first refusal, with its stage; empty where feasible
  std::optional<std::size_t> stage;           // of it; none: initial placement
  std::optional<residency::Refusal> refusal;  // of it
  Bytes moved_bytes = 0;
  Bytes compacted_bytes = 0;
  std::uint64_t compactions = 0;
  std::vector<workload::PeakEvidence> peaks;  // of locations that are charged, in location order
};
Replay replay(const workload::Program& program);

}  // namespace fheres::compile
