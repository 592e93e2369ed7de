#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/verify/replay.hpp>

namespace fheres::verify {

using workload::Location;
using workload::ValueIndex;

/// A copy on its way (R21), and what it holds until it is settled (R23).
struct Arrival {
  Location from = Location::pageable_host();
  ValueIndex reads = 0;  // whose copy at `from`: its own, or its backing's
  Bytes staging = 0;     // charged at pinned-host (R64)
  Bytes temporary = 0;   // charged at the destination: the backing's copy (R66)
};

struct Copy {
  Location at = Location::pageable_host();
  std::size_t readers = 0;  // arrivals that read it
  std::optional<Arrival> arrival;
  bool is_protected() const { return readers != 0 || arrival.has_value(); }
};

/// Where one value is.
struct Holding {
  std::vector<Copy> copies;  // in location order
  bool is_made = true;       // false: a stage produces it, later
  bool is_released = false;
  std::vector<ValueIndex> backs;  // what is expanded from it and not released (R66)

  Copy* find(Location at);
  const Copy* find(Location at) const { return const_cast<Holding*>(this)->find(at); }
  void add(Location at);
  void remove(Location at);
};

/// `at pinned-host, cuda:0`, or `nowhere`.
std::string places(const Holding& holding);

/// Where every value is. No rules: who asks knows them.
class Holdings {
 public:
  explicit Holdings(const workload::World& world);

  std::size_t size() const { return holdings_.size(); }
  Holding& operator[](ValueIndex value) { return holdings_[value]; }
  const Holding& operator[](ValueIndex value) const { return holdings_[value]; }
  bool is_at(ValueIndex value, Location at) const { return holdings_[value].find(at) != nullptr; }
  /// Whether nothing brings it back once its last copy is gone (R4, R5, R66).
  bool must_stay(ValueIndex value) const;

  struct Place {
    ValueIndex value = 0;
    Location at = Location::pageable_host();
  };
  /// Arrivals of which the value's copy at `gone` is an end: of all of its copies where nothing is given.
  std::vector<Place> arrivals_at(ValueIndex value, std::optional<Location> gone) const;

 private:
  const workload::World& world_;
  std::vector<Holding> holdings_;
};

}  // namespace fheres::verify
