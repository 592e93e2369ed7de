#pragma once

#include <optional>
#include <span>
#include <vector>

#include <fheres/scheme/operation.hpp>
#include <fheres/scheme/operation_error.hpp>

namespace fheres::scheme {

/// Operations one after the other that make one ciphertext of one ciphertext, as if they were one: every type
/// and every byte between them is known before any of them runs. A plain value once it is finished; thread
/// safe to read.
///
/// The last step's result is the circuit's. Results in between stand in the workspace as long as somebody
/// reads them; one that nobody reads again is overwritten in place where the operation can. The workspace is
/// exact: place_lifetimes over results and scratch storage.
class Circuit {
 public:
  /// An operand or key that a step does not have, and the circuit's input.
  static constexpr int kNone = -1, kInput = -2;

  struct Step {
    Operation operation = Operation::add;
    int operands[2] = {kNone, kNone};  // steps, or kInput
    int key = kNone;                   // index into the keys
    std::optional<Scalar> scalar;
    Signature signature;
    std::optional<double> magnitude;  // a bound of its slots that the operands' do not give
    std::optional<Bytes> result_at;   // offset in the workspace; absent: in the circuit's result
    Bytes scratch_at = 0;
  };

  /// A circuit over inputs of that type. `keys` are the types of the keys that it may use, in the order in
  /// which they are given to the evaluator; `group` as in infer.
  Circuit(const Parameters& parameters, const ValueType& input, std::span<const ValueType> keys = {},
          int group = 0);

  /// Appends an operation and returns its step. Refuses what infer refuses. The key is found by its kind, and
  /// by its steps for a rotation: StateError with the key's type where there is none.
  int add(Operation operation, int a, int b = kNone, const Scalar* scalar = nullptr);
  int rotate(int a, std::int64_t steps);
  const ValueType& type(int operand) const;
  /// What the maker knows of a step's slots, for estimates: their magnitude is at most this.
  void limit(int step, double magnitude) { steps_[static_cast<std::size_t>(step)].magnitude = magnitude; }

  /// Lays out what was appended, at least one step; nothing is appended after that.
  void finish();

  const Parameters& parameters() const { return parameters_; }
  const ValueType& input() const { return input_; }
  std::span<const ValueType> keys() const { return keys_; }
  std::span<const Step> steps() const { return steps_; }
  int group() const { return group_; }
  /// Of the finished circuit.
  Signature signature() const { return {steps_.back().signature.result, workspace_}; }
  /// What the circuit makes of an input's estimate.
  Estimate estimate(const Estimate& input) const;

 private:
  int append(Operation operation, int a, int b, int key, const Scalar* scalar);
  int find_key(Operation operation, Kind kind, int steps) const;

  Parameters parameters_;
  ValueType input_;
  std::vector<ValueType> keys_;
  int group_;
  std::vector<Step> steps_;
  Bytes workspace_ = 0;
};

}  // namespace fheres::scheme
