#include <algorithm>

#include <fheres/scheme/advice.hpp>
#include <fheres/scheme/sizes.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::scheme {
namespace {

// Measured on one H200: butterflies and multiply-accumulates a microsecond, bytes a microsecond.
constexpr double kButterflies = 0.78e6, kFastButterflies = 1.91e6;
constexpr double kSums = 1.0e6, kFastSums = 2.0e6;
constexpr double kMemory = 4.2e6;
constexpr int kMostSpecial = 16;
// A message of a few units beside the scale's bits.
constexpr int kBaseRoom = 4;

bool is_fast(const Modulus& prime) { return prime.bits() <= kFastPrimeBits; }

Choice make_choice(const Parameters& parameters) {
  const ValueType key = relinearization_key_type(0);
  return {parameters,
          false,
          bytes_of(parameters, key),
          bytes_of(parameters, seeded_form(key)),
          key_switch_workspace(parameters, 0, 0),
          switch_cost(parameters)};
}

}  // namespace

SwitchCost switch_cost(const Parameters& parameters) {
  const int l = parameters.limbs(0);
  const int k = parameters.special_limbs();
  const int d = parameters.digits(0);
  const int a = parameters.digit_limbs();
  const double n = static_cast<double>(parameters.n());
  const double butterflies = n / 2 * parameters.log_n();
  SwitchCost cost;
  for (int i = 0; i < parameters.prime_count(); ++i) {
    const bool special = i >= l;
    const bool fast = is_fast(parameters.prime(i));
    // A Q limb: back, forward in every digit but its own, and two of the division by P. A special one: forward in every
    // digit, and back twice.
    const int transforms = special ? d + 2 : 1 + (d - 1) + 2;
    const double sums = special ? d * a + 2.0 * d : (d - 1) * a + 2.0 * d + 2.0 * k;
    cost.transforms += transforms;
    if (fast) cost.fast_transforms += transforms;
    cost.compute_us += transforms * butterflies / (fast ? kFastButterflies : kButterflies);
    cost.compute_us += sums * n / (fast ? kFastSums : kSums);
  }
  cost.memory_us = static_cast<double>(bytes_of(parameters, relinearization_key_type(0))) / kMemory;
  return cost;
}

std::vector<Choice> advise(const ParametersLiteral& literal) {
  const Parameters given = Parameters::make(literal);
  std::vector<Choice> choices{make_choice(given)};
  choices.front().given = true;
  const auto consider = [&](int base_bits, int special_bits) {
    ParametersLiteral other = literal;
    other.name.clear();
    other.digit_limbs = 0;
    other.q.front() = {base_bits, {}};
    for (int k = 1; k <= kMostSpecial; ++k) {
      other.p.assign(static_cast<std::size_t>(k), PrimeSpec{special_bits, {}});
      try {
        const Parameters parameters = Parameters::make(other);
        const bool known = std::any_of(choices.begin(), choices.end(),
                                       [&](const Choice& choice) { return choice.parameters == parameters; });
        if (!known) choices.push_back(make_choice(parameters));
        // One digit is the end: more special primes only cost.
        if (parameters.digits(0) == 1) return;
      } catch (const SecurityError&) {
        return;
      } catch (const ParameterError&) {
        // Too much noise, or too few primes of the size: more special primes may serve.
      }
    }
  };
  consider(literal.q.front().bits, 60);
  if (literal.scale_bits + kBaseRoom <= kFastPrimeBits) consider(kFastPrimeBits, kFastPrimeBits);
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.key < b.key; });
  return choices;
}

}  // namespace fheres::scheme
