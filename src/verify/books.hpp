#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fheres/verify/replay.hpp>

#include "verify/addresses.hpp"

namespace fheres::verify {

using workload::Location;
using workload::ValueIndex;

/// A block of a location, by what it is for.
enum class BlockOf : std::uint64_t { value, workspace, output, loaded, backing, staging };
Addresses::Key key_of(BlockOf kind, std::size_t index, Location at = Location::pageable_host());
BlockOf kind_of(Addresses::Key key);
std::size_t index_of(Addresses::Key key);
/// For people.
std::string describe(Addresses::Key block, const workload::World& world);
/// Of several the first few, and how many more there are.
std::string describe(const std::vector<Addresses::Key>& blocks, const workload::World& world);

/// What one location is charged, and its addresses where it has some of its own (a budgeted pinned or cuda
/// location).
struct Account {
  Location at = Location::pageable_host();
  std::optional<Bytes> budget;
  Bytes used = 0;
  Bytes reserved = 0;
  Bytes peak = 0;
  std::string peak_stage;
  Bytes compacted = 0;
  bool known = false;  // has a budget, or was charged once
  std::optional<Addresses> addresses;

  Bytes charged() const { return used + reserved; }
  bool over() const { return budget && charged() > *budget; }
};

/// The accounts of all locations. Charges are always carried out; who charges asks first.
class Books {
 public:
  explicit Books(const workload::World& world);

  /// Why so much more has no room (R24): one line with the numbers. Nothing where it has, or where the
  /// location is over its budget already.
  std::optional<std::string> refusal(Location at, Bytes more) const;
  void charge(Location at, Bytes used, Bytes reserved);
  void discharge(Location at, Bytes used, Bytes reserved);
  /// What follows counts for this stage's peaks; empty: initial placement.
  void begin(const std::string& stage) { stage_ = stage; }
  /// Once all charges of a moment are made.
  void note(Location at);

  Account& at(Location at) { return accounts_[at.index()]; }
  /// By location, those that are known.
  std::vector<LocationFigures> figures() const;

 private:
  std::vector<Account> accounts_;  // by index of the location
  std::string stage_;
};

}  // namespace fheres::verify
