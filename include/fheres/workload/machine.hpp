#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/workload/place.hpp>

namespace fheres::workload {

using memory::Location;

/// What copies of one direction depend on: kinds of location, and not which device.
enum class Tier { pageable_host, pinned_host, cuda };
Tier tier_of(Location at);
/// `pageable-host`, `pinned-host`, `cuda`.
const char* name(Tier tier);

/// A copy of so many bytes, and how long it takes on an idle machine.
struct CopyPoint {
  Bytes bytes = 0;
  double ns = 0;
};

/// How copies from one kind of location to another go. From cuda to cuda: between two peers.
struct CopyTimes {
  Tier from = Tier::pinned_host;
  Tier to = Tier::cuda;
  std::vector<CopyPoint> points;  // at least one, by bytes, times not falling

  /// Between two points and below the first two, time is linear in bytes (a latency, and a bandwidth by size); beyond
  /// the last, at its bandwidth. One point: at its bandwidth. Never below 0.
  double ns(Bytes bytes) const;
  /// Bytes per second of the largest copy.
  double bandwidth() const;
};

/// An operation at one level, and how long it takes.
struct LevelTime {
  int level = 0;
  double ns = 0;
};

/// How long one operation takes at the levels that were measured.
struct OperationTimes {
  std::string parameters;         // a preset's name, or the parameters' id
  std::string operation;          // as documents call it: `rotate`, `multiply`; `multiply+key` relinearizes
  std::vector<LevelTime> points;  // at least one, by level

  /// Linear between two levels; outside of them, the nearest one's.
  double ns(int level) const;
};

/// A machine as far as times go: measured by `fheres calibrate`, or written by hand. What is not known is not there, and
/// who asks gets nothing. A plain value; times are nanoseconds.
struct Machine {
  std::string name;
  std::string device;            // for people: `NVIDIA H200`
  Bytes granularity = kGranule;  // of charges
  std::vector<std::pair<Location, Location>>
      peers;                      // devices that copy to each other directly, each pair once
  std::vector<CopyTimes> copies;  // each direction at most once
  /// Whether copies to a device and from it go on at once, each at its own bandwidth.
  bool full_duplex = true;
  /// Bytes of keys a second that a device expands from seeds (R66).
  std::optional<double> expansion;
  /// Bytes a second that slide inside a device to make one piece of room (R27), the host waiting.
  std::optional<double> compaction;
  std::vector<OperationTimes> operations;
  double stage_ns = 0;  // of the host, for each stage and for each transfer, beside what the device does

  const CopyTimes* copy(Tier from, Tier to) const;
  bool are_peers(Location a, Location b) const;
  /// A copy between two locations, alone on the machine. Between devices that are no peers: through pinned staging, one
  /// leg after the other (R64). Nothing where a direction is not known.
  std::optional<double> copy_ns(Location from, Location to, Bytes bytes) const;
  /// What the device does to expand so many bytes of a key.
  std::optional<double> expand_ns(Bytes bytes) const;
  /// A compaction inside a location that slides so many bytes. Where nobody measured it, as long as it would take to
  /// bring the bytes there from pinned-host: more than it is.
  double slide_ns(Location at, Bytes bytes) const;
  const OperationTimes* operation(std::string_view parameters, std::string_view operation) const;
};

/// The machine of memory/bandwidth.hpp: large copies of one NVIDIA H200, without latencies and operation times.
Machine default_machine();

}  // namespace fheres::workload
