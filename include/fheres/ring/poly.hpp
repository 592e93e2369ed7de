#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fheres::ring {

/// Residues of `polynomials` polynomials in `limbs` limbs, somewhere on a back end's device. Owns nothing.
/// Coefficient n of polynomial j in limb i is data[i * limb_stride + j * polynomial_stride + n], in words;
/// its modulus is the basis's prime `first_prime + i`. Strides are at least N and multiples of N; data is
/// aligned to 256 bytes where N >= 32.
template <class Word>
struct BasicView {
  Word* data = nullptr;
  int first_prime = 0;
  int limbs = 0;
  int polynomials = 1;
  std::size_t limb_stride = 0;
  std::size_t polynomial_stride = 0;

  Word* at(int limb, int polynomial) const {
    return data + static_cast<std::size_t>(limb) * limb_stride +
           static_cast<std::size_t>(polynomial) * polynomial_stride;
  }
  /// Some limbs, some polynomials of the same storage.
  BasicView limb_range(int first, int count) const {
    return {at(first, 0), first_prime + first, count, polynomials, limb_stride, polynomial_stride};
  }
  BasicView polynomial_range(int first, int count) const {
    return {at(0, first), first_prime, limbs, count, limb_stride, polynomial_stride};
  }
  operator BasicView<const Word>() const requires(!std::is_const_v<Word>) {
    return {data, first_prime, limbs, polynomials, limb_stride, polynomial_stride};
  }
};
using View = BasicView<std::uint64_t>;
using ConstView = BasicView<const std::uint64_t>;

/// Dense [limb][polynomial][N].
template <class Word>
BasicView<Word> dense_view(Word* data, int first_prime, int limbs, int polynomials, std::size_t n) {
  return {data, first_prime, limbs, polynomials, n * static_cast<std::size_t>(polynomials), n};
}

/// One polynomial over the Q limbs 0 .. limbs-1, split into digits: limb i starts at data + i * limb_stride +
/// (i / a) * digit_stride. Lets it stand on the diagonal of an extended tile.
template <class Word>
struct BasicDigits {
  Word* data = nullptr;
  int limbs = 0;
  std::size_t limb_stride = 0;
  std::size_t digit_stride = 0;

  Word* at(int limb, int digit_limbs) const {
    return data + static_cast<std::size_t>(limb) * limb_stride +
           static_cast<std::size_t>(limb / digit_limbs) * digit_stride;
  }
  operator BasicDigits<const Word>() const requires(!std::is_const_v<Word>) {
    return {data, limbs, limb_stride, digit_stride};
  }
};
using Digits = BasicDigits<std::uint64_t>;
using ConstDigits = BasicDigits<const std::uint64_t>;

/// The ring automorphism X -> X^exponent, exponent odd and below 2N. 1 changes nothing. In the ntt domain it
/// is a gather (ring/automorphism.hpp).
struct Automorphism {
  std::uint32_t exponent = 1;
};

/// One ntt-domain polynomial that is read through an automorphism, or is a product not yet formed: limb t is
/// automorphism(values)_t * factor_t,  without the factor where factor.data is null.
struct Source {
  ConstView values;                // one polynomial
  Automorphism automorphism = {};  // 1 where a factor is given
  ConstView factor = {};           // same limbs, or null
};

/// One of several rotations of a source: its key's whole storage, with so many digits, and where its two polynomials go.
struct Rotation {
  Automorphism turn;
  const std::uint64_t* key = nullptr;
  int key_digits = 0;
  View out;
};

/// A product that is one of a sum: two polynomials, each times the one of b. Both cover the same primes.
struct Term {
  ConstView a, b;
};

}  // namespace fheres::ring
