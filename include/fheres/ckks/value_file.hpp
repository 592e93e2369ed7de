#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/ckks/serialize.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::ckks {

/// A value that a file holds.
struct StoredValue {
  std::string name;
  scheme::ValueType type;
};

/// CKKS values in a file: ciphertexts, plaintexts and keys, each under its name, in the layout of scheme::bytes_of.
/// A value is the tensor of its name, `U64` residues ([limb][component][N] and so on), in seeded form followed by
/// `NAME.seed`, 32 times `U8`. The metadata has `format: fheres/values/v1`, `parameters` (the id, a hash of them), and
/// `value:NAME`, the value's type as scheme::encode_metadata writes it. Mapped, lazy, immutable, thread safe.
class ValueFile {
 public:
  /// FileError where the file is no such file, or a tensor is not what its type asks for, or belongs to no value;
  /// scheme::ParameterError where it was written for other parameters (both ids in the message).
  ValueFile(const scheme::Parameters& parameters, const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  /// By name.
  std::span<const StoredValue> values() const { return values_; }
  const StoredValue* find(std::string_view name) const;

  /// The bytes of a value (scheme::bytes_of of its type) into `out`, of exactly that size. FileError where the file
  /// has no such value, or a value of another type than `type` (both in the message), or where a residue is not below
  /// its prime: what comes in from outside is checked before anything computes with it.
  void read(std::string_view name, const scheme::ValueType& type, std::span<std::byte> out) const;

 private:
  scheme::Parameters parameters_;
  TensorFile file_;
  std::vector<StoredValue> values_;
};

/// Writes such a file, value by value in the given order, whole or not at all.
class ValueFileWriter {
 public:
  ValueFileWriter(const scheme::Parameters& parameters, const std::filesystem::path& path,
                  std::vector<StoredValue> values);
  /// The next value's bytes. std::logic_error for another number of bytes than its type has.
  void write(std::span<const std::byte> bytes);
  void finish() { writer_.finish(); }

 private:
  std::vector<Bytes> sizes_;
  std::size_t next_ = 0;
  TensorWriter writer_;
};

/// One value in a file of its own.
void save_value(const scheme::Parameters& parameters, const std::filesystem::path& path,
                const StoredValue& value, std::span<const std::byte> bytes);

}  // namespace fheres::ckks
