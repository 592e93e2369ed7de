#pragma once

#include <vector>

#include <fheres/workload/draft.hpp>
#include <fheres/workload/model.hpp>

#include "names.hpp"

namespace fheres::workload {

/// A world whose names and shapes are checked. Ciphertexts have their types; plaintexts and keys get theirs when it is
/// known where they are used (settle_types).
struct WorldCheck {
  World world;
  Names names;
  std::vector<ValueDraft> drafts;  // of the declared values, by ValueIndex
};
WorldCheck check_world(const WorldDraft& draft, Problems& problems);

/// `plaintext`, `rotation key`, ...
const char* noun(ValueKind kind);
bool is_key(ValueKind kind);

/// False for opaque bytes, and for a rotation by steps that have been reported as bad.
bool has_type(const scheme::Parameters& parameters, const ValueDraft& draft);
/// The type of a declared CKKS value (has_type) at a level. `scale` is the plaintext's; its level's canonical one
/// where absent.
scheme::ValueType type_at(const scheme::Parameters& parameters, const ValueDraft& draft, int level,
                          const std::optional<scheme::Scale>& scale = {});
/// Gives the value its type and its specification.
void set_type(const scheme::Parameters& parameters, const scheme::ValueType& type, Value& value);
/// What no stage has settled: the given level, else the freshest.
void settle_types(WorldCheck& check);

/// Reports an exclusive value that is wanted at two places.
void check_exclusive(const std::vector<Requirement>& require, const World& world, Problems& problems);

}  // namespace fheres::workload
