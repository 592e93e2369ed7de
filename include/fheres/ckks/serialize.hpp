#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/base/file.hpp>

namespace fheres::ckks {

/// One array of a file: `dtype` is safetensors' word for its elements, `U64` or `U8` for instance.
struct Tensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  Bytes begin = 0;  // in the payload
  Bytes end = 0;
};

/// Element size times the shape. FileError for a dtype that is unknown, and where the product passes 2^63.
Bytes bytes_of(const Tensor& tensor);

/// A file of the safetensors format, mapped: 8 bytes of header length (little-endian), a JSON header, the payload of
/// little-endian arrays. Only the header is read when it is opened; pages of the payload come in when they are touched.
///
/// Whatever the file holds, opening it gives a checked file or a FileError that names it and says what is wrong, with
/// both figures. Refused: a length beyond the file or beyond 16 MiB, JSON that is broken or nested deeper than a header
/// is, duplicate or unknown keys, numbers that are no whole numbers below 2^64, a dtype that is unknown, a shape whose
/// bytes are not what the offsets span, and offsets that leave gaps, overlap, or do not end where the payload does.
/// Immutable, thread safe, move-only.
class TensorFile {
 public:
  explicit TensorFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// In the order of the payload.
  std::span<const Tensor> tensors() const { return tensors_; }
  /// Nothing where there is no such tensor.
  const Tensor* find(std::string_view name) const;
  /// `__metadata__`.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The metadata's entry; FileError where it is missing.
  const std::string& metadata(const std::string& key) const;
  std::span<const std::byte> bytes(const Tensor& tensor) const {
    return payload_.subspan(tensor.begin, tensor.end - tensor.begin);
  }
  std::span<const std::byte> payload() const { return payload_; }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::span<const std::byte> payload_;
  std::vector<Tensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// Writes such a file piece by piece, whole or not at all (OutputFile). The payload starts at a multiple of kGranule
/// bytes. Every machine that this is built for is little-endian.
class TensorWriter {
 public:
  /// Lays the tensors out one behind the other (their begin and end are not looked at) and writes the header.
  /// FileError for two of one name.
  TensorWriter(const std::filesystem::path& path, std::vector<Tensor> tensors,
               const std::map<std::string, std::string>& metadata,
               OutputFile::Access access = OutputFile::Access::everyone);
  /// The next bytes of the payload.
  void write(std::span<const std::byte> bytes);
  /// std::logic_error unless exactly the payload was written.
  void finish();

 private:
  OutputFile file_;
  Bytes left_ = 0;
};

}  // namespace fheres::ckks
