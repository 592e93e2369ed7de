#pragma once

namespace fheres::scheme {

/// Variance of a coefficient of the secret, which is uniform ternary.
inline constexpr double kSecretVariance = 2.0 / 3.0;

}  // namespace fheres::scheme
