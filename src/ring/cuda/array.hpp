#pragma once

#include <cstddef>

#include <fheres/ring/poly.hpp>

#include "ring/cuda/ntt_pass.hpp"

namespace fheres::ring::cuda {

/// A view or digits as kernels address them: residue n of polynomial j in limb i. Owns nothing.
template <class Word>
struct BasicArray {
  Word* data = nullptr;
  std::size_t limb_stride = 0;
  std::size_t polynomial_stride = 0;
  std::size_t digit_stride = 0;  // of digits: added once a digit
  int digit_limbs = 1;

  FHERES_INLINE Word* at(int limb, int polynomial) const {
    Word* const start = data + static_cast<std::size_t>(limb) * limb_stride +
                        static_cast<std::size_t>(polynomial) * polynomial_stride;
    return digit_stride == 0 ? start : start + static_cast<std::size_t>(limb / digit_limbs) * digit_stride;
  }
};
using Array = BasicArray<u64>;
using ConstArray = BasicArray<const u64>;

template <class Word>
BasicArray<Word> array(const BasicView<Word>& view) {
  return {view.data, view.limb_stride, view.polynomial_stride, 0, 1};
}
template <class Word>
BasicArray<Word> array(const BasicDigits<Word>& digits, int digit_limbs) {
  return {digits.data, digits.limb_stride, 0, digits.digit_stride, digit_limbs};
}
inline ConstArray read_only(const Array& a) {
  return {a.data, a.limb_stride, a.polynomial_stride, a.digit_stride, a.digit_limbs};
}

}  // namespace fheres::ring::cuda
