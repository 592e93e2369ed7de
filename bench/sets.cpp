#include "sets.hpp"

#include <stdexcept>
#include <string>

#include <fheres/scheme/presets.hpp>

namespace fheres::bench {
namespace {

scheme::ParametersLiteral set(int log_n, int base_bits, int levels, int special_bits, int special_limbs,
                              int digit_limbs) {
  constexpr int kScaleBits = 40;
  scheme::ParametersLiteral literal;
  literal.log_n = log_n;
  literal.q.push_back({base_bits, {}});
  literal.q.insert(literal.q.end(), static_cast<std::size_t>(levels), scheme::PrimeSpec{kScaleBits, {}});
  literal.p.assign(static_cast<std::size_t>(special_limbs), scheme::PrimeSpec{special_bits, {}});
  literal.scale_bits = kScaleBits;
  literal.digit_limbs = digit_limbs;
  return literal;
}

}  // namespace

scheme::ParametersLiteral find_set(std::string_view name) {
  if (name == "B") return set(15, 50, 17, 45, 3, 3);
  if (name == "C") return set(16, 50, 26, 60, 7, 7);
  if (name == "D") return set(16, 46, 33, 46, 8, 9);
  const std::string_view preset = name == "F"     ? "slots8192-scale40-levels7"
                                  : name == "S16" ? "slots16384-scale40-levels16"
                                  : name == "S34" ? "slots32768-scale40-levels34"
                                                  : name;
  if (auto literal = scheme::find_preset(preset)) return *literal;
  throw std::invalid_argument("expected a preset or one of F, B, C, D, S16, S34, got " + std::string(name));
}

}  // namespace fheres::bench
