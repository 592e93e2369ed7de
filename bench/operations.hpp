#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/memory/driver.hpp>

namespace fheres::bench {

/// How many operands of each kind an operation has, beside two ciphertexts and a product; its workspace.
struct Shape {
  int results = 1;
  int keys = 1;
  int plaintexts = 1;
  scheme::PlaintextForm form = scheme::PlaintextForm::prepared;
  Bytes workspace = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// The operands of operations at level 0 of one parameter set, at one place, with residues drawn at random. Times do
/// not depend on what residues mean, so there is no message, encryption or key generation behind them.
class Operands {
 public:
  /// Empty storage at `at`.
  Operands(const scheme::Parameters& parameters, const Shape& shape, std::shared_ptr<memory::Driver> driver,
           memory::Location at);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void randomize(const ring::Basis& basis, std::uint64_t seed);  // host only
  void copy_from(const Operands& host, const memory::Stream& stream);
  Bytes bytes() const { return bytes_; }

  ckks::CiphertextRef a() const { return {parameters_, scheme::ciphertext_type(parameters_), a_}; }
  ckks::CiphertextRef b() const { return {parameters_, scheme::ciphertext_type(parameters_), b_}; }
  /// Read only, at the scale of a product.
  ckks::CiphertextRef product() const { return {parameters_, product_type(), product_}; }
  ckks::PlaintextRef plain(int index = 0) const;
  /// One key's residues serve as a key of any kind.
  ckks::KeyView key(const scheme::ValueType& type, int index = 0) const;
  ckks::KeyView rotation_key() const { return key(scheme::rotation_key_type(parameters_, 1)); }
  ckks::KeyView relinearization_key() const { return key(scheme::relinearization_key_type()); }
  /// Where results of any type go, each in storage of its own.
  ckks::CiphertextRef out(const scheme::ValueType& type, int index = 0) const;
  ckks::Workspace workspace(Bytes bytes) const { return workspace_.first(bytes); }
  /// All results, to compare: of each the first so many bytes.
  std::vector<std::span<std::byte>> results(Bytes bytes) const;

  scheme::ValueType product_type() const;
  const scheme::Parameters& parameters() const { return parameters_; }

 private:
  using Storage = std::span<std::byte>;

  scheme::Parameters parameters_;
  Shape shape_;
  std::shared_ptr<memory::Driver> driver_;
  memory::Location at_;
  Bytes bytes_ = 0;
  std::byte* data_ = nullptr;
  Storage a_, b_, product_, workspace_;
  std::vector<Storage> results_, keys_, plaintexts_;
};

/// One operation as it is measured: the same call on every back end.
struct Operation {
  std::string name;
  /// Every operand read once and every result written once.
  Bytes bytes = 0;
  std::function<void(const ckks::Evaluator&, const Operands&, const memory::Stream&)> run;
  /// Bytes of each result, to compare.
  Bytes result_bytes = 0;
  Shape shape = {};
};
std::vector<Operation> operations(const scheme::Parameters& parameters);

}  // namespace fheres::bench
