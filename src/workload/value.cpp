#include <fheres/workload/value.hpp>

namespace fheres::workload {

bool needs_secret(const Value& value) {
  if (value.produced_by || value.file || value.backing || !value.type) return false;
  return value.type->kind == scheme::Kind::ciphertext || scheme::is_key(value.type->kind);
}

std::string type_tag(scheme::Kind kind) { return "ckks." + scheme::name(kind); }

residency::ValueSpec make_spec(const scheme::Parameters& parameters, const std::string& name,
                               const scheme::ValueType& type, residency::ReplicaMode mode,
                               residency::Recoverability recoverability) {
  residency::ValueSpec spec;
  spec.name = name;
  spec.type = type_tag(type.kind);
  spec.metadata = scheme::encode_metadata(parameters, type);
  spec.logical_bytes = scheme::bytes_of(parameters, type);
  spec.storage_bytes = round_up_to_granule(spec.logical_bytes);
  spec.replica_mode = mode;
  spec.recoverability = recoverability;
  return spec;
}

residency::ValueSpec make_bytes_spec(const std::string& name, Bytes bytes, residency::ReplicaMode mode) {
  residency::ValueSpec spec;
  spec.name = name;
  spec.type = "bytes";
  spec.logical_bytes = bytes;
  spec.storage_bytes = round_up_to_granule(bytes);
  spec.replica_mode = mode;
  return spec;
}

}  // namespace fheres::workload
