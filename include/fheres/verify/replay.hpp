#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/verify/violation.hpp>
#include <fheres/workload/program.hpp>

namespace fheres::verify {

/// What a location was charged.
struct LocationFigures {
  workload::Location at = workload::Location::pageable_host();
  std::optional<Bytes> budget;
  Bytes peak = 0;          // charged, temporary charges included (R25)
  std::string peak_stage;  // the first in which; empty: initial placement
  Bytes at_end = 0;
  Bytes compacted = 0;  // slid inside (R27)
};

/// A Program, replayed.
struct Replay {
  std::vector<Violation> violations;  // in run-time order
  std::vector<LocationFigures>
      locations;          // in location order: those with a budget, and those that were charged
  Bytes moved_bytes = 0;  // copied, loaded or sent to be expanded by stages; initial placement is not counted
  Bytes compacted_bytes = 0;      // slid inside locations, initial placement included
  std::uint64_t compactions = 0;  // actions, bodies and values that start somewhere for which something slid
  std::uint64_t actions = 0;      // of all stages, reservations, productions and releases included

  bool sound() const { return violations.empty(); }
};

/// Replays a Program against the residency rules (design, page 03) with books of its own: it shares no code
/// with residency::State, with explain or with any planner, so that what they have in common they did not get
/// wrong together. Initial placement, then each stage from what the one before leaves, in the order of R39:
/// - who is where (R4, R5, R9 to R13, R16, R66), exclusive values, last copies, what is released or not made
///   yet;
/// - charges of values, reservations, temporary copies and staging against the budgets (R7, R15, R16, R24,
///   R36, R38, R64);
/// - arrivals, what they read and what they hold until they are settled (R21, R23);
/// - the addresses of budgeted pinned and cuda locations: first fit in granules from the low end, from the high end for what arrives later, and compactions where a
///   request fits by bytes and not in one piece (R27). Of several ways to make a piece, the one that copies
///   least, then the lowest;
/// - what a body needs is there when it starts (R29): what the stage says that it requires, and `required`,
///   by stage.
///
/// Every violation is reported, not the first alone. What is refused for want of room is carried out all the
/// same, so that what follows is judged as if there had been room, and a location that is over its budget is
/// reported once, until it is under it again. Anything else that is refused is left out.
///
/// Not checked, because a Program does not say it: leases and holds (R29 to R35 but for the above), devices
/// that are not there (R3), what a load really makes (R17), and times. Indices out of range are violations,
/// not errors. Pure.
Replay replay(const workload::Program& program,
              std::span<const std::vector<workload::Requirement>> required = {});

}  // namespace fheres::verify
