#pragma once

#include <span>
#include <vector>

#include <fheres/scheme/operation.hpp>
#include <fheres/scheme/operation_error.hpp>

namespace fheres::scheme {

/// linear_transform: a matrix times the slots, by its diagonals, as baby steps and giant steps (Halevi and
/// Shoup, 2014) with both hoisted (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, "Efficient bootstrapping for
/// approximate homomorphic encryption with non-sparse keys", 2021).
///
/// Diagonal r multiplies what r steps of rotation bring: y_i = sum over r of diagonal_r[i] * x_(i - r),
/// indices modulo the slots. So of a matrix M, diagonal_r[i] = M[i][i - r]. Diagonal r = g + b has the baby
/// step b < n1 and the giant step g, a multiple of n1: y = sum over g of rotation by g ( sum over b of
/// rotation by -g (diagonal_(g + b)) * rotation by b (x) ).
///
/// With d digits, l limbs, u = l + k: the workspace is (max(d u, 2 l) + 2 n u + 4 u) b, where n is the number
/// of baby steps that are used, 0 counted always. Work is on all limbs at once, whatever the evaluator's
/// group. A plain value; thread safe to read.
class LinearTransform {
 public:
  /// `diagonals`: any order and sign, taken modulo the slots, at least one, none twice: ParameterError.
  /// `baby_steps` is n1, 1 .. slots; 0 chooses the power of two with the fewest baby steps and twice as dear
  /// giant steps, the smallest where several have. Steps that no diagonal needs cost nothing.
  LinearTransform(const Parameters& parameters, std::span<const std::int64_t> diagonals, int baby_steps = 0);

  struct Diagonal {
    int index;        // in [0, slots)
    int baby, giant;  // index = baby + giant modulo the slots
  };
  /// By giant step, then baby step. Plaintexts stand in this order.
  std::span<const Diagonal> diagonals() const { return diagonals_; }
  int baby_steps() const { return baby_steps_; }
  /// Those used, ascending. 0 among them, if used, needs no key.
  std::span<const int> babies() const { return babies_; }
  std::span<const int> giants() const { return giants_; }
  /// The steps of the keys that it needs, ascending, and the keys for operands of a level, in that order.
  std::vector<int> rotations() const;
  std::vector<ValueType> keys(int level) const;

  /// Plaintexts are prepared_qp, of one scale, of the operand's level or an earlier one, in the order of
  /// diagonals(). The result has the operand's level and the product of the scales. Keys may stand in any
  /// order and be more than needed. StateError with both figures.
  Signature infer(const ValueType& operand, std::span<const ValueType> plaintexts,
                  std::span<const ValueType> keys) const;
  /// What is known of the result: `magnitudes` bounds the slots of each diagonal, in the order of
  /// diagonals().
  Estimate estimate(const ValueType& operand, const Estimate& of_operand, const Scale& plaintext_scale,
                    std::span<const double> magnitudes) const;

 private:
  Parameters parameters_;
  int baby_steps_ = 0;
  std::vector<Diagonal> diagonals_;
  std::vector<int> babies_, giants_;
};

}  // namespace fheres::scheme
