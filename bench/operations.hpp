#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/memory/driver.hpp>

namespace fheres::bench {

/// The operands of every operation at level 0 of one parameter set, at one place, with residues drawn at random.
/// Times do not depend on what residues mean, so there is no message, encryption or key generation behind them.
class Operands {
 public:
  /// Empty storage at `at`; null driver: host memory.
  Operands(const scheme::Parameters& parameters, std::shared_ptr<memory::Driver> driver, memory::Location at);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void randomize(const ring::Basis& basis, std::uint64_t seed);  // host only
  void copy_from(const Operands& host, const memory::Stream& stream);
  Bytes bytes() const { return bytes_; }

  ckks::CiphertextRef a() const { return ciphertext(0, scheme::ciphertext_type(parameters_)); }
  ckks::CiphertextRef b() const { return ciphertext(1, scheme::ciphertext_type(parameters_)); }
  /// Read only, at the scale of a product.
  ckks::CiphertextRef product() const { return ciphertext(2, product_type()); }
  ckks::PlaintextRef plain() const;
  ckks::KeyRef rotation_key() const;
  ckks::KeyRef relinearization_key() const;
  /// Where results of any type go; all of its storage.
  ckks::CiphertextRef out(const scheme::ValueType& type) const { return ciphertext(3, type); }
  ckks::Workspace workspace(Bytes bytes) const { return piece(6).first(bytes); }
  std::span<std::byte> piece(std::size_t index) const;

  scheme::ValueType product_type() const;
  const scheme::Parameters& parameters() const { return parameters_; }

 private:
  ckks::CiphertextRef ciphertext(std::size_t index, const scheme::ValueType& type) const;

  scheme::Parameters parameters_;
  std::shared_ptr<memory::Driver> driver_;
  memory::Location at_;
  std::vector<Bytes> offsets_;  // of a, b, product, out, plain, key, workspace, and the end
  Bytes bytes_ = 0;
  std::byte* data_ = nullptr;
};

/// One operation as it is measured: the same call on every back end.
struct Operation {
  std::string name;
  /// Every operand read once and every result written once.
  Bytes bytes = 0;
  std::function<void(const ckks::Evaluator&, const Operands&, const memory::Stream&)> run;
  /// Bytes of the result in Operands' `out`, to compare.
  Bytes result_bytes = 0;
};
std::vector<Operation> operations(const scheme::Parameters& parameters);

}  // namespace fheres::bench
