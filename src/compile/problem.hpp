#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/workload/model.hpp>

namespace fheres::compile {

using memory::Location;
using workload::ValueIndex;
using workload::Workload;

/// A stretch of stages between two moments at which a value is needed at one location, where it is not needed itself:
/// it may stay, or go and be paid for. A stretch that spans no stage is no question, and is not here.
struct Interval {
  std::size_t lane = 0;
  std::size_t room = 0;
  std::size_t first = 0, last = 0;  // stages in which it would take room, both included
  Bytes charge = 0;                 // the room that it takes in each
  /// The room that the bound may count: less where its value could be kept as something smaller, its backing.
  Bytes least_charge = 0;
  Bytes cost = 0;       // bytes moved when it goes, at least; the lane's `offload` left aside
  Bytes price = 0;      // the same, as far as a plan should weigh it: what is not certain too
  bool head = false;    // from the start of the workload
  bool tail = false;    // to its release, or to the end
  bool forced = false;  // it cannot go: an only copy, and no tier to go to
};

/// One value at one location, over the whole workload.
struct Lane {
  ValueIndex value = 0;
  Location at = Location::pageable_host();
  std::vector<std::size_t> uses;  // stages, ascending: it is required there, or (the first one) made there
  bool starts_here = false;
  bool made_here = false;
  /// Bytes moved once, the first time that it goes: an only copy has to be written somewhere else. Later it is a copy.
  Bytes offload = 0;
  Bytes compulsory = 0;                // of Problem::compulsory
  std::vector<std::size_t> intervals;  // indices into Problem::intervals, ascending in time
};

/// Room at a budgeted location, by stage, beside what the stage itself needs there: reservations, and what is required.
struct Room {
  Location at = Location::pageable_host();
  Bytes budget = 0;
  std::vector<std::int64_t> free;  // negative: the stage alone exceeds the budget
};

/// A workload as a question of what to keep where. Exact where values are used at one location and host tiers have no
/// budget; else what it leaves out is found by replay. Costs are bytes moved. A plain value; pure.
///
/// What every plan pays stands in `compulsory`: a value that starts elsewhere has to come once. So every plan moves at
/// least compulsory + what the intervals that it does not keep cost, less nothing: no cost is counted twice, because an
/// interval pays for arrivals at its own location, and `offload` (arrivals elsewhere) is asked only of values that are
/// used at one location.
struct Problem {
  std::size_t stages = 0;
  std::vector<Lane> lanes;
  std::vector<Interval> intervals;
  /// Where only copies may go from a location, in order: the policy's fallback, and where a plan by hand moves something.
  std::map<Location, std::vector<Location>> tiers;
  std::vector<Room> rooms;  // of budgeted locations, in location order
  Bytes compulsory = 0;
  /// Every plan's bytes are a multiple of this, at least 1: the greatest common divisor of what can move.
  Bytes unit = 1;

  std::optional<std::size_t> room_at(Location at) const;
};

Problem make_problem(const Workload& workload);

/// The charges of what cannot go from a room, by stage.
std::vector<std::int64_t> forced_charges(const Problem& problem, std::size_t room);

}  // namespace fheres::compile
