#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <fheres/base/check.hpp>
#include <fheres/base/inline_vector.hpp>
#include <fheres/base/shared_vector.hpp>
#include <fheres/residency/action.hpp>
#include <fheres/residency/errors.hpp>
#include <fheres/residency/spec.hpp>

namespace fheres::residency {

/// A copy that is on its way to a materialization (R21). Until it is settled, one pending token protects either end.
struct Arrival {
  Location from = Location::pageable_host();
  Bytes staging = 0;    // charged at pinned-host until it is settled (R64)
  Bytes temporary = 0;  // charged where it arrives until it is settled: a copy of its backing (R66)
  std::optional<HandleId> backing{};  // whose replica at `from` is read; without it, the value's own (R66)
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

/// One value at one location.
struct Materialization {
  Location at = Location::pageable_host();
  Bytes actual_bytes = 0;  // of the block; the charge is the specification's storage_bytes
  Protection protection{};
  std::optional<Arrival> arrival{};  // while it is arriving
};

/// One value, as State knows it.
struct ValueRecord {
  std::shared_ptr<const ValueSpec> spec{};
  InlineVector<Materialization, 2> materializations{};  // in location order
  std::optional<Location> source{};                     // where its source loads, if it has one
  std::optional<HandleId> backing{};   // what it can be expanded from, also once that is discarded
  std::vector<HandleId> dependents{};  // live values that it backs, in order of registration
  bool discarded = false;
  bool announced = false;  // no bytes yet

  const Materialization* at(Location location) const;
};

/// The records of a State by serial: of all values, or of a few of very many.
class ValueTable {
 public:
  std::size_t size() const { return size_; }  // serials, known here or not
  /// To be changed: copies of the table keep what they have.
  ValueRecord& edit(std::uint64_t serial) { return rows_.edit(row(serial)); }
  const ValueRecord& operator[](std::uint64_t serial) const { return rows_[row(serial)]; }
  const SharedVector<ValueRecord>& all() const {
    FHERES_CHECK(!partial_);
    return rows_;
  }
  void push_back(ValueRecord record) {
    if (partial_) serials_.push_back(size_);
    rows_.push_back(std::move(record));
    ++size_;
  }
  /// Knows these serials of it, which may repeat.
  ValueTable only(std::vector<std::uint64_t> serials) const;

 private:
  std::size_t row(std::uint64_t serial) const { return partial_ ? search(serial) : serial; }
  std::size_t search(std::uint64_t serial) const;

  SharedVector<ValueRecord> rows_;
  std::vector<std::uint64_t> serials_;  // of rows_, ascending, where not all are known
  std::size_t size_ = 0;
  bool partial_ = false;
};

}  // namespace fheres::residency
