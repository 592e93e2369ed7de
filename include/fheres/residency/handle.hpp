#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include <fheres/base/strong_id.hpp>

namespace fheres::residency {

using ManagerId = StrongId<struct ManagerTag>;
using ReservationId = StrongId<struct ReservationTag>;

/// Names one managed value of one manager: what actions, plans and requests are written in. Carries no
/// storage; immutable, hashable, ordered by registration (R6). Serials start at 0 and are never used twice.
struct HandleId {
  ManagerId manager;
  std::uint64_t serial = 0;
  friend constexpr auto operator<=>(const HandleId&, const HandleId&) = default;
};

/// A HandleId that remembers the C++ type of its value. No implicit way from one type to another; to a
/// HandleId there is one, so it goes wherever one is asked for.
template <class T>
struct Handle {
  HandleId id;
  constexpr operator HandleId() const { return id; }
  friend constexpr auto operator<=>(const Handle&, const Handle&) = default;
};

}  // namespace fheres::residency

template <>
struct std::hash<fheres::residency::HandleId> {
  std::size_t operator()(const fheres::residency::HandleId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.manager.value * 0x9E3779B97F4A7C15ull + id.serial);
  }
};
