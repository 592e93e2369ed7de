#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fheres/memory/location.hpp>
#include <fheres/residency/spec.hpp>
#include <fheres/scheme/value_type.hpp>
#include <fheres/workload/message.hpp>
#include <fheres/workload/place.hpp>

namespace fheres::workload {

using memory::Location;

/// An index into World::values.
using ValueIndex = std::size_t;

/// A managed value: declared under `values`, or an output that a stage produces. Everything about it is known
/// before any byte of it exists.
struct Value {
  Name name;
  residency::ValueSpec spec;              // name, type tag, metadata, bytes, replica mode, recoverability
  std::optional<scheme::ValueType> type;  // absent: opaque bytes, for planning only
  std::optional<Message> message;         // declared ciphertexts and plaintexts
  std::vector<Location> at;               // where it starts, in location order; empty for an output
  std::optional<Location> source;   // where it can be made again: from its message (a plaintext), or its file
  std::optional<std::string> file;  // of values, in which it has the name client_name
  std::string client_name;          // declared: what the client makes it under, and files call it
  /// Of a plaintext that is a diagonal of a linear transform: its message is turned back by so many steps before it is
  /// encoded, over P and Q.
  std::optional<int> turned_back;
  std::optional<ValueIndex> backing;  // the value of World::values that it is expanded from (R66)
  std::int64_t priority = 0;          // lower goes first (R54)
  std::optional<std::string> stable_key;
  std::optional<std::size_t> produced_by;  // the stage whose output it is
  std::string variant;                     // that it has, where there was something to choose
  /// Of Workload::questions: the one that it belongs to, as what was asked about or as a part of the answer.
  std::optional<std::size_t> question;
};

/// Whether the client makes it, with its secret: a declared ciphertext or key that no file holds.
bool needs_secret(const Value& value);

/// The residency type tag of a CKKS kind: `ckks.ciphertext`, `ckks.rotation-key`, ... Opaque values are `bytes`.
std::string type_tag(scheme::Kind kind);
/// The specification of a CKKS value: tag, metadata, exact bytes, charge in whole granules.
residency::ValueSpec make_spec(const scheme::Parameters& parameters, const std::string& name,
                               const scheme::ValueType& type, residency::ReplicaMode mode,
                               residency::Recoverability recoverability);
/// The specification of an opaque value.
residency::ValueSpec make_bytes_spec(const std::string& name, Bytes bytes, residency::ReplicaMode mode);

}  // namespace fheres::workload
