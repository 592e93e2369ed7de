#pragma once

#include <string>

#include <fheres/base/bytes.hpp>

namespace fheres::residency {

/// replicable: several materializations at once. exclusive: exactly one.
enum class ReplicaMode { replicable, exclusive };
/// must_preserve: the last materialization stays until the value is discarded. reconstructible: a source
/// brings it back.
enum class Recoverability { must_preserve, reconstructible };

/// What never changes of a value (R7). Opaque to residency but for its bytes.
struct ValueSpec {
  std::string name;      // for messages and reports; need not be unique
  std::string type;      // `ckks.ciphertext`, `bytes`, ...
  std::string metadata;  // whatever the type's owner needs to read the block
  Bytes logical_bytes = 0;
  Bytes storage_bytes = 0;  // the charge of every replica: at least logical, a multiple of kGranule
  ReplicaMode replica_mode = ReplicaMode::replicable;
  Recoverability recoverability = Recoverability::must_preserve;

  friend bool operator==(const ValueSpec&, const ValueSpec&) = default;
};

/// Throws std::invalid_argument unless type is non-empty and the byte rules above hold.
void check_spec(const ValueSpec& spec);

}  // namespace fheres::residency
