#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/residency/handle.hpp>

namespace fheres::control {

using residency::HandleId;

/// What a policy may know of a value beyond its specification (R55).
struct Metadata {
  std::int64_t priority = 0;              // lower goes first
  std::optional<std::string> stable_key;  // not empty; unique among the values of one controller
  std::uint64_t access_epoch = 0;         // of its last successful use; 0: never accessed
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

/// The metadata of the values of one manager, kept outside of it so that a decision needs no manager. A plain
/// value; not thread safe. A value that was never named here has the defaults.
class ValueMetadata {
 public:
  const Metadata& of(HandleId value) const;
  /// Throws std::invalid_argument when the key is empty or names another value. Keeps the access epoch.
  void set(HandleId value, std::int64_t priority, std::optional<std::string> stable_key);
  /// All of these were used together, just now: one epoch newer than any before.
  void touch(std::span<const HandleId> values);
  /// Which value the key names.
  std::optional<HandleId> owner_of(const std::string& stable_key) const;
  /// A discarded value gives its key back.
  void forget(HandleId value);

 private:
  Metadata& slot(HandleId value);

  std::vector<Metadata> by_serial_;
  std::map<std::string, HandleId> keys_;
  std::uint64_t epoch_ = 0;
};

}  // namespace fheres::control
