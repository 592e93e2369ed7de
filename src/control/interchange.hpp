#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "problem.hpp"

namespace fheres::control {

/// What distinguishes two states of one search: how many values of each class are placed how, and whether the
/// reservations are admitted. Charges follow from it.
struct Situation {
  std::vector<std::uint64_t> kinds;  // of the values that are not placed as at the start, ascending
  bool reserved = false;
  friend bool operator==(const Situation&, const Situation&) = default;
};
struct SituationHash {
  std::size_t operator()(const Situation& situation) const noexcept;
};

/// Values that no rule can tell apart: equal bytes, mode, recoverability, source, backing, places, protections and
/// endpoints. Two of them that are placed alike are of one kind, and what can be done with one can be done with
/// the other.
class Classes {
 public:
  /// Places and protections as in `start`.
  Classes(const Problem& problem, const residency::State& start);

  /// Class and present placement.
  std::uint64_t kind(const residency::State& now, HandleId value);
  Situation situation(const residency::State& now, bool reserved);

 private:
  using Places = std::vector<std::size_t>;
  std::uint32_t number_of(const Places& places);

  std::vector<std::uint32_t> class_of_;  // by serial
  std::vector<std::uint32_t> start_;     // placement number by serial
  std::vector<HandleId> movable_;
  std::map<Places, std::uint32_t> numbers_;
};

}  // namespace fheres::control
