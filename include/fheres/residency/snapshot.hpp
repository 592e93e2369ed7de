#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <fheres/memory/driver.hpp>
#include <fheres/residency/state.hpp>

namespace fheres::residency {

/// An expansion that is not known to be complete (R66).
struct ExpansionSnapshot {
  Location read_at = Location::pageable_host();  // where the value's backing is read
  Bytes temporary = 0;          // charged as reserved meanwhile, where the value is: a copy of its backing
  std::optional<Bytes> offset;  // of that copy in the location's region, if it has a budget
};

struct MaterializationSnapshot {
  Location at = Location::pageable_host();
  Bytes logical_bytes = 0;
  Bytes actual_bytes = 0;   // of the block
  Bytes charged_bytes = 0;  // the specification's storage_bytes
  Protection protection;
  /// Where the block is in the location's region, if that is one piece with a budget. Compaction changes it.
  std::optional<Bytes> offset;
  bool arriving = false;                       // a copy to it is not known to be complete (R21)
  std::optional<ExpansionSnapshot> expansion;  // where it arrives by being expanded
};

struct ValueSnapshot {
  HandleId handle;
  std::shared_ptr<const ValueSpec> spec;
  std::optional<Location> source;   // where its source loads, if it has one
  std::optional<HandleId> backing;  // what it was registered to be expanded from (R66)
  bool discarded = false;
  std::vector<MaterializationSnapshot> materializations;  // in location order
};

struct LocationSnapshot {
  Account account;
  std::size_t materializations = 0;
  Protection protection;  // sums over the location
  /// What the location's region itself says, in whole granules: a second witness beside the account.
  Bytes allocated = 0;
  Bytes peak_allocated = 0;
  Bytes largest_free = 0;  // 0 where there is no budget
  Bytes compacted = 0;     // slid inside the location so far (R27)
  /// What the device said, where observation is on and worked (R28). Evidence only.
  std::optional<memory::DeviceMemory> device;
};

/// One atomic observation of a manager, without storage (R50). Plain data.
struct Snapshot {
  ManagerId manager;
  std::uint64_t version = 0;
  std::int64_t time_ns = 0;
  std::vector<ValueSnapshot> values;        // in order of registration
  std::vector<LocationSnapshot> locations;  // in location order
  std::vector<ReservationRecord> reservations;

  const LocationSnapshot* at(Location location) const;
};

}  // namespace fheres::residency
