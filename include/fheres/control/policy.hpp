#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/residency/handle.hpp>

namespace fheres::control {

using memory::Location;
using residency::HandleId;

/// An unprotected materialization at a location that needs room, as a policy sees it (R53). Valid during the
/// call only.
struct Candidate {
  HandleId value{};
  Location at = Location::pageable_host();
  Bytes bytes = 0;  // what its removal releases
  std::int64_t priority = 0;
  std::uint64_t access_epoch = 0;           // 0: never accessed
  const std::string* stable_key = nullptr;  // null: none
  std::size_t replicas = 1;                 // materializations of the value, this one included
  bool reconstructible = false;
};

/// Who goes first, and where a value that must be kept may go instead. Deterministic: equal candidates give
/// an equal order, whatever the time or the machine. decide() calls it from the calling thread only.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Name and settings in one line: equal identities decide alike.
  virtual std::string identity() const = 0;
  /// Each index of `candidates` exactly once, first victim first. decide() throws std::logic_error otherwise.
  virtual std::vector<std::size_t> order(std::span<const Candidate> candidates) const = 0;
  /// Where values may be moved from `from`, best first; never `from` itself, no repeats. Valid as long as the
  /// policy is.
  virtual std::span<const Location> fallback_tiers(Location from) const = 0;
};

/// Lower priority first, then older access (never accessed is oldest), then values with a stable key in key
/// order, then registration order (R54). Tiers are exactly those that are given; immutable.
class DeterministicTieredLRU final : public Policy {
 public:
  using Tiers = std::map<Location, std::vector<Location>>;

  DeterministicTieredLRU() = default;
  /// Throws std::invalid_argument for a tier that names its own source or repeats a location.
  explicit DeterministicTieredLRU(Tiers fallback);

  std::string identity() const override;
  std::vector<std::size_t> order(std::span<const Candidate> candidates) const override;
  std::span<const Location> fallback_tiers(Location from) const override;

 private:
  Tiers fallback_;
};

}  // namespace fheres::control
