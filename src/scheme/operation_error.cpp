#include <cmath>

#include <fheres/base/check.hpp>
#include <fheres/scheme/operation_error.hpp>

#include "secret.hpp"

namespace fheres::scheme {
namespace {

constexpr double kDoubles = 0x1p-48;  // what transforms in doubles lose of the largest slot

double root_n(const Parameters& parameters) { return std::sqrt(static_cast<double>(parameters.n())); }

/// Of a slot: dividing with rounding leaves up to half an integer in each component, which meets 1, s and
/// s^2.
double rounding(const Parameters& parameters, int components, const Scale& scale) {
  const double square = kSecretVariance * static_cast<double>(parameters.n());  // of a coefficient times s
  const double variance = (1 + square + (components == 3 ? square * square : 0)) / 12;
  return std::sqrt(variance) * root_n(parameters) / scale.to_double();
}

double key_switch(const Parameters& parameters, int level, const Scale& scale) {
  return parameters.key_switch_deviation(level) * root_n(parameters) / scale.to_double();
}

Estimate sum(const Estimate& a, const Estimate& b) {
  return {a.magnitude + b.magnitude, a.deviation + b.deviation};
}

/// The product of the two errors counts too: one of them is within its bound.
Estimate product(const Estimate& a, const Estimate& b) {
  return {a.magnitude * b.magnitude,
          a.magnitude * b.deviation + b.magnitude * a.deviation + a.bound() * b.deviation};
}

/// The scalar that is really used, an integer over its scale; the deviation is its distance from the one
/// meant.
Estimate used_scalar(const Scalar& scalar, const Scale& scale) {
  const double size = std::fabs(scalar.value);
  return {size, 0.5 / scale.to_double() + size * 0x1p-52};
}

}  // namespace

Estimate encoded_estimate(const Parameters& parameters, const Scale& scale, double magnitude) {
  return {magnitude, root_n(parameters) / std::sqrt(12.0) / scale.to_double() + magnitude * kDoubles};
}

Estimate fresh_estimate(const Parameters& parameters, const Scale& scale, double magnitude) {
  Estimate fresh = encoded_estimate(parameters, scale, magnitude);
  fresh.deviation += parameters.fresh_deviation() * root_n(parameters) / scale.to_double();
  return fresh;
}

Estimate estimate(const Parameters& parameters, Operation operation, std::span<const ValueType> types,
                  std::span<const Estimate> operands, const ValueType* key, const Scalar* scalar) {
  const Signature signature = infer(parameters, operation, types, key, 0, scalar);
  FHERES_CHECK(operands.size() == types.size());
  const ValueType& result = signature.result;
  const int level = types[0].level;
  Estimate out = operands[0];
  switch (operation) {
    case Operation::add:
    case Operation::sub:
    case Operation::add_plain:
    case Operation::sub_plain:
    case Operation::plain_sub:
      return sum(out, operands[1]);
    case Operation::negate:
      return out;
    case Operation::add_scalar:
    case Operation::sub_scalar:
    case Operation::scalar_sub:
      return sum(out, used_scalar(*scalar, result.scale));
    case Operation::multiply:
    case Operation::square:
      out = product(out, operands.back());
      if (key) out.deviation += key_switch(parameters, level, result.scale);
      return out;
    case Operation::multiply_plain:
      return product(out, operands[1]);
    case Operation::multiply_scalar:
      return product(out, used_scalar(*scalar, scalar->scale.value_or(parameters.canonical_scale(level))));
    case Operation::multiply_rescale:
    case Operation::square_rescale:
      out = product(out, operands.back());
      out.deviation += key_switch(parameters, level, types[0].scale.times(types.back().scale)) +
                       rounding(parameters, 2, result.scale);
      return out;
    case Operation::relinearize:
    case Operation::rotate:
    case Operation::conjugate:
      out.deviation += key_switch(parameters, level, result.scale);
      return out;
    case Operation::rescale:
      out.deviation += rounding(parameters, result.components, result.scale);
      return out;
    case Operation::mod_switch:
      // Without workspace a limb is dropped and nothing is lost. The correcting constant is a whole number
      // near S_i.
      if (signature.workspace == 0) return out;
      out.deviation += rounding(parameters, result.components, result.scale) +
                       out.magnitude * 0.5 / types[0].scale.to_double();
      return out;
  }
  FHERES_CHECK(false);
}

}  // namespace fheres::scheme
