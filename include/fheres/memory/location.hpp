#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace fheres::memory {

/// Where bytes can live: `pageable-host`, `pinned-host` or `cuda:N`, N from 0 to 127, always indexed (R1).
/// A small value: two bytes, ordered pageable, pinned, then cuda by index. Its name is its identity.
class Location {
 public:
  static constexpr int kMaxDevices = 128;
  static constexpr std::size_t kCount = 2 + kMaxDevices;

  static constexpr Location pageable_host() { return Location(0); }
  static constexpr Location pinned_host() { return Location(1); }
  /// Throws std::invalid_argument unless 0 <= device < kMaxDevices.
  static Location cuda(int device);

  /// The location of a name, or nothing: `cuda`, `cuda:00`, `cuda:-1` and `cuda:128` name no location.
  static std::optional<Location> from_name(std::string_view name);
  /// As from_name; throws std::invalid_argument with the name and what was expected.
  static Location parse(std::string_view name);

  constexpr bool is_host() const { return index_ < 2; }
  constexpr bool is_cuda() const { return index_ >= 2; }
  /// The device's number. Only for cuda locations.
  constexpr int device() const { return index_ - 2; }
  /// Dense, below kCount, in order: for tables indexed by location.
  constexpr std::size_t index() const { return static_cast<std::size_t>(index_); }
  std::string name() const;

  friend constexpr auto operator<=>(const Location&, const Location&) = default;

 private:
  explicit constexpr Location(int index) : index_(static_cast<std::int16_t>(index)) {}
  std::int16_t index_;
};

}  // namespace fheres::memory

template <>
struct std::hash<fheres::memory::Location> {
  std::size_t operator()(const fheres::memory::Location& at) const noexcept { return at.index(); }
};
