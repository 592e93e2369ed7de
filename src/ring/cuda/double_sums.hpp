#pragma once

#include "ring/cuda/field.hpp"

// The sums of base conversion in double precision. Arithmetic only, so a test on the host can go to the ends of its range.
namespace fheres::ring::cuda {

/// Sums are kept in two parts: multiples of 2^kSumBits, and the rest.
inline constexpr int kSumBits = 45;

/// Sums of products at a thread's points, modulo a prime in doubles.
///
/// A sum is kept as high + low with high a multiple of 2^kSumBits. `high` starts at 1.5 2^(52 + kSumBits), so that
/// adding a product there rounds it to such a multiple, and what rounding leaves out, at most 2^(kSumBits - 1), is found
/// exactly by two more operations (the splitting of Dekker). Words are below 2^46, or two pieces of 31 bits for one of a
/// larger prime; factors are at most 2^45 in size. So 32 products of each kind stay below 2^(51 + kSumBits), and `low`,
/// with what it starts from and small products of 2^50 in all, below 2^51.
template <int kHeld>
class DoubleSums {
 public:
  FHERES_INLINE explicit DoubleSums(double low) {
    FHERES_UNROLL
    for (int h = 0; h < kHeld; ++h) {
      high_[h] = kStart;
      low_[h] = low;
    }
  }
  FHERES_INLINE void add(int h, double y, double w) {
    const double high = DoubleField::fused(y, w, high_[h]);
    low_[h] = DoubleField::plus(low_[h], DoubleField::fused(y, w, DoubleField::plus(high_[h], -high)));
    high_[h] = high;
  }
  /// An integer y w below 2^50.
  FHERES_INLINE void add_small(int h, double y, double w) { low_[h] = DoubleField::fused(y, w, low_[h]); }
  /// Modulo q, within 3q/2 + 1.
  FHERES_INLINE double end(int h, const DoubleField& field, double unit) const {
    return DoubleField::plus(field.multiply(DoubleField::plus(high_[h], -kStart), unit),
                             field.settle(low_[h]));
  }

 private:
  static constexpr double kStart = 1.5 * DoubleField::kTwo52 * static_cast<double>(u64{1} << kSumBits);
  double high_[kHeld];
  double low_[kHeld];
};

}  // namespace fheres::ring::cuda
