#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace fheres {

/// An integer that names something of one kind, and does not convert to the name of another kind.
/// Ordered and hashable; zero is a value like any other unless its issuer says otherwise.
template <class Tag>
struct StrongId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

}  // namespace fheres

template <class Tag>
struct std::hash<fheres::StrongId<Tag>> {
  std::size_t operator()(const fheres::StrongId<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
