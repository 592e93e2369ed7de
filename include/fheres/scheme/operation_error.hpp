#pragma once

#include <span>

#include <fheres/scheme/operation.hpp>

namespace fheres::scheme {

/// What is known of a value's slots: how large the clear message may be, and the standard deviation of the
/// error, sqrt(E |error|^2), in units of the message. A plain value.
///
/// Fresh and key-switch errors are those of Parameters, a polynomial's error of deviation s a coefficient
/// being s sqrt(N) in every slot. Errors of two operands may come from one value, so their deviations add,
/// never their squares: the result is an upper bound whatever they have in common.
struct Estimate {
  double magnitude = 1;
  double deviation = 0;

  /// No slot of any value of a computation is expected to err by more: six deviations, where a slot exceeds
  /// them with probability 2^-50.
  double bound() const { return 6 * deviation; }
};

/// A message of so large slots, encoded at a scale: half of an integer lost a coefficient, and what doubles
/// lose.
Estimate encoded_estimate(const Parameters& parameters, const Scale& scale, double magnitude);
/// The same, encrypted with the public key.
Estimate fresh_estimate(const Parameters& parameters, const Scale& scale, double magnitude);

/// What an operation makes of its operands' estimates, which stand in the order of infer's operands. Refuses
/// what infer refuses. The magnitude does not know that messages may cancel.
Estimate estimate(const Parameters& parameters, Operation operation, std::span<const ValueType> types,
                  std::span<const Estimate> operands, const ValueType* key = nullptr,
                  const Scalar* scalar = nullptr);

}  // namespace fheres::scheme
