#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::ckks {

/// What the kinds of scheme/value_type have in common as storage.
enum class Family { ciphertext, plaintext, key };

/// Throws scheme::ParameterError unless the type is of the family and its value has exactly that many bytes.
void check_storage(const scheme::Parameters& parameters, Family family, const scheme::ValueType& type,
                   Bytes bytes);

/// A CKKS value in somebody else's storage, on the device of whoever computes with it: a type and an address.
/// Owns nothing. Layouts: scheme::bytes_of. Storage is aligned to kGranule.
template <Family family, class Word>
class ValueView {
  using Byte = std::conditional_t<std::is_const_v<Word>, const std::byte, std::byte>;

 public:
  /// Throws scheme::ParameterError unless `type` is of this family and `storage` has exactly its bytes.
  ValueView(const scheme::Parameters& parameters, const scheme::ValueType& type, std::span<Byte> storage)
      : type_(type), data_(reinterpret_cast<Word*>(storage.data())) {
    check_storage(parameters, family, type, storage.size());
  }
  /// A writable view reads as well.
  template <class Writable>
  ValueView(const ValueView<family, Writable>& other)  // NOLINT: a conversion
      requires(std::is_const_v<Word>&& std::is_same_v<Writable, std::remove_const_t<Word>>)
      : type_(other.type()), data_(other.data()) {}

  const scheme::ValueType& type() const { return type_; }
  Word* data() const { return data_; }

 private:
  scheme::ValueType type_;
  Word* data_;
};

/// A CKKS value in host memory of its own, for the client and for tests. Move-only. Contents start
/// unspecified.
template <Family family>
class HostValue {
 public:
  HostValue(const scheme::Parameters& parameters, const scheme::ValueType& type);

  const scheme::ValueType& type() const { return type_; }
  std::span<const std::byte> bytes() const { return {data_.get(), bytes_}; }
  std::span<std::byte> bytes() { return {data_.get(), bytes_}; }
  ValueView<family, const std::uint64_t> view() const { return {parameters_, type_, bytes()}; }
  ValueView<family, std::uint64_t> ref() { return {parameters_, type_, bytes()}; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  scheme::Parameters parameters_;
  scheme::ValueType type_;
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace fheres::ckks
