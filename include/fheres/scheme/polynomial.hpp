#pragma once

#include <span>

#include <fheres/scheme/circuit.hpp>

namespace fheres::scheme {

/// power: c_0 + c_1 x + c_2 x^2 + ..; chebyshev: c_0 T_0(x) + c_1 T_1(x) + .., for real slots in [-1, 1].
enum class PolynomialBasis { power, chebyshev };

/// More would take longer to plan than a document may cost.
inline constexpr int kMaxPolynomialDegree = 1023;

/// ceil(log2(degree + 1)): the levels that a polynomial of that degree takes.
int polynomial_depth(int degree);
/// The same for coefficients, whose last ones may be zero.
int polynomial_depth(std::span<const double> coefficients);

/// polynomial: the same polynomial in every slot, after Paterson and Stockmeyer (1973) with the depth of the
/// plain product tree: baby powers below 2^k, giant powers 2^k, 2^(k+1), .., and on the one path that has no
/// level to spare splits below 2^k too (Bossuat et al., 2021). k is the one with the fewest products of
/// ciphertexts, then the least workspace.
///
/// The degree is that of the last coefficient other than zero, 1 to kMaxPolynomialDegree. Every value in
/// between has the canonical scale of its level, so the result has level + polynomial_depth(degree) and the
/// canonical scale there: the operand's scale has to be canonical, and scale_management automatic. `keys`
/// need a relinearization key for its level, except at degree 1. StateError with both figures. Estimates of
/// the Chebyshev basis hold for slots in [-1, 1].
Circuit polynomial(const Parameters& parameters, const ValueType& operand,
                   std::span<const double> coefficients, PolynomialBasis basis,
                   std::span<const ValueType> keys, int group = 0);

}  // namespace fheres::scheme
