#pragma once

#include <vector>

#include <fheres/ckks/evaluator.hpp>
#include <fheres/ckks/value_store.hpp>
#include <fheres/scheme/polynomial.hpp>
#include <fheres/scheme/rotations.hpp>

namespace fheres::ckks {

/// The convenience form of the evaluator's operations: each returns a new value, allocated from one region,
/// and brings its own workspace. Work is queued on the store's stream; values may be used in further
/// operations, and let go, at once. Same checks, errors and residues as Evaluator, and
/// memory::AllocationError where the region is full: then nothing was queued.
///
/// The workspace is kept between operations and grows to the largest one: an operation that needs more than
/// any before waits for the stream. One thread at a time.
class Calculator {
 public:
  /// The evaluator's back end and the store's region are of one device.
  Calculator(Evaluator evaluator, std::shared_ptr<ValueStore> store);
  ~Calculator();
  Calculator(const Calculator&) = delete;
  Calculator& operator=(const Calculator&) = delete;

  const Evaluator& evaluator() const { return evaluator_; }
  const std::shared_ptr<ValueStore>& store() const { return store_; }
  /// Waits until all results are there; throws what the device reports.
  void synchronize() { store_->synchronize(); }

  using Value = StoredCiphertext;
  Value add(const CiphertextView& a, const CiphertextView& b);
  Value sub(const CiphertextView& a, const CiphertextView& b);
  Value negate(const CiphertextView& a);
  Value add(const CiphertextView& a, const PlaintextView& b);
  Value sub(const CiphertextView& a, const PlaintextView& b);
  Value sub(const PlaintextView& a, const CiphertextView& b);
  Value add(const CiphertextView& a, const scheme::Scalar& b);
  Value sub(const CiphertextView& a, const scheme::Scalar& b);
  Value sub(const scheme::Scalar& a, const CiphertextView& b);
  /// Three components.
  Value multiply(const CiphertextView& a, const CiphertextView& b);
  Value multiply(const CiphertextView& a, const CiphertextView& b, const KeyView& key);
  Value multiply(const CiphertextView& a, const PlaintextView& b);
  Value multiply(const CiphertextView& a, const scheme::Scalar& b);
  Value multiply_rescale(const CiphertextView& a, const CiphertextView& b, const KeyView& key);
  Value square(const CiphertextView& a);
  Value square(const CiphertextView& a, const KeyView& key);
  Value square_rescale(const CiphertextView& a, const KeyView& key);
  Value relinearize(const CiphertextView& a, const KeyView& key);
  Value rescale(const CiphertextView& a);
  Value mod_switch(const CiphertextView& a);
  Value rotate(const CiphertextView& a, const KeyView& key);
  Value conjugate(const CiphertextView& a, const KeyView& key);
  std::vector<Value> rotate_many(const CiphertextView& a, std::span<const KeyView> keys);
  Value sum_slots(const CiphertextView& a, std::uint64_t count, std::span<const KeyView> keys);
  Value polynomial(const CiphertextView& a, std::span<const double> coefficients,
                   scheme::PolynomialBasis basis, std::span<const KeyView> keys);
  Value linear_transform(const scheme::LinearTransform& transform, const CiphertextView& a,
                         std::span<const PlaintextView> diagonals, std::span<const KeyView> keys);
  Value run(const scheme::Circuit& circuit, const CiphertextView& a, std::span<const KeyView> keys);
  Value apply(scheme::Operation operation, const Operands& operands);
  StoredPlaintext expand(const PlaintextView& compact, int level,
                         scheme::PlaintextForm form = scheme::PlaintextForm::prepared);

  /// A copy in the region of a value in host memory, complete on return; and back, after what is queued.
  template <Family family>
  StoredValue<family> store_value(const HostValue<family>& value);
  template <Family family>
  HostValue<family> fetch(const StoredValue<family>& value);

 private:
  const scheme::Parameters& parameters() const { return evaluator_.context().parameters(); }
  Value make(const scheme::ValueType& type) { return Value(store_, parameters(), type); }
  Workspace workspace(Bytes bytes);
  void copy(const memory::Extent& destination, const memory::Extent& source);

  Evaluator evaluator_;
  std::shared_ptr<ValueStore> store_;
  memory::Block workspace_;
};

}  // namespace fheres::ckks
