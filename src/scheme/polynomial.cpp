#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/scheme/polynomial.hpp>

namespace fheres::scheme {
namespace {

[[noreturn]] void refuse_polynomial(const std::string& why) { throw StateError("polynomial: " + why); }

int degree_of(std::span<const double> coefficients) {
  int degree = static_cast<int>(coefficients.size()) - 1;
  while (degree >= 0 && coefficients[static_cast<std::size_t>(degree)] == 0) --degree;
  return degree;
}

/// floor(log2(x)) and ceil(log2(x)) of x >= 1.
int floor_log2(int x) { return std::bit_width(static_cast<unsigned>(x)) - 1; }
int ceil_log2(int x) { return std::bit_width(static_cast<unsigned>(x) - 1); }

/// Builds the circuit for one k. Levels are counted from the operand's.
class Builder {
 public:
  Builder(const Parameters& parameters, const ValueType& operand, PolynomialBasis basis,
          std::span<const ValueType> keys, int group, int baby_bits)
      : circuit_(parameters, operand, keys, group), basis_(basis), baby_bits_(baby_bits) {}

  Circuit build(const std::vector<double>& coefficients) {
    evaluate(coefficients, polynomial_depth(degree_of(coefficients)));
    circuit_.finish();
    return std::move(circuit_);
  }

 private:
  int level_of(int operand) const { return circuit_.type(operand).level - circuit_.input().level; }

  /// The value, as many levels down as it takes.
  int lowered(int operand, int level) {
    while (level_of(operand) < level) operand = circuit_.add(Operation::mod_switch, operand);
    return operand;
  }

  /// x^index or T_index at a level, the first time from the one before.
  int power(int index, int level) {
    const auto known = powers_.find({index, level});
    if (known != powers_.end()) return known->second;
    int made = Circuit::kInput;
    if (index != 1 && level == ceil_log2(index)) {
      made = product(index);
    } else if (index != 1 || level != 0) {
      made = lowered(power(index, level - 1), level);
    }
    powers_.emplace(std::pair(index, level), made);
    return made;
  }

  /// By halves, so that its level is ceil(log2(index)): x^(a + b), or T_(a + b) = 2 T_a T_b - T_(a - b), a -
  /// b at most 1.
  int product(int index) {
    const int a = (index + 1) / 2;
    const int b = index / 2;
    const int level = ceil_log2(index);
    int made = 0;
    if (a == b) {
      made = circuit_.add(Operation::square_rescale, power(a, level - 1));
    } else {
      const int first = power(a, level - 1);
      made = circuit_.add(Operation::multiply_rescale, first, power(b, level - 1));
    }
    if (basis_ == PolynomialBasis::power) return made;
    const Scalar two{2, Scale::power_of_two(0)};
    const Scalar one{1, {}};
    made = circuit_.add(Operation::multiply_scalar, made, Circuit::kNone, &two);
    made = a == b ? circuit_.add(Operation::sub_scalar, made, Circuit::kNone, &one)
                  : circuit_.add(Operation::sub, made, power(1, level));
    circuit_.limit(made, 1);
    return made;
  }

  int add_constant(int operand, double value) {
    if (value == 0) return operand;
    const Scalar scalar{value, {}};
    return circuit_.add(Operation::add_scalar, operand, Circuit::kNone, &scalar);
  }

  int scaled(int operand, double factor) {
    const Scalar scalar{factor, {}};
    return circuit_.add(Operation::multiply_scalar, operand, Circuit::kNone, &scalar);
  }

  /// A polynomial of degree 1 to 2^level - 1, at that level.
  int evaluate(const std::vector<double>& coefficients, int level) {
    const int degree = degree_of(coefficients);
    FHERES_CHECK(degree >= 1 && degree < 1 << level);
    const int leaf_level = ceil_log2(degree) + 1;
    if (degree < 1 << baby_bits_ && leaf_level <= level)
      return lowered(leaf(coefficients, degree, leaf_level - 1), level);

    const int h = floor_log2(degree);
    const int giant = 1 << h;
    std::vector<double> rest(coefficients.begin(), coefficients.begin() + giant);
    std::vector<double> quotient(static_cast<std::size_t>(degree - giant + 1));
    for (int i = giant; i <= degree; ++i) {
      const double c = coefficients[static_cast<std::size_t>(i)];
      const bool doubled = basis_ == PolynomialBasis::chebyshev && i > giant;
      quotient[static_cast<std::size_t>(i - giant)] = doubled ? 2 * c : c;
      // T_i = 2 T_giant T_(i - giant) - T_(2 giant - i).
      if (doubled) rest[static_cast<std::size_t>(2 * giant - i)] -= c;
    }
    int sum = 0;
    if (degree == giant) {
      sum = circuit_.add(Operation::rescale, scaled(power(giant, level - 1), quotient[0]));
    } else {
      const int factor = evaluate(quotient, level - 1);
      sum = circuit_.add(Operation::multiply_rescale, factor, power(giant, level - 1));
    }
    const int rest_degree = degree_of(rest);
    if (rest_degree >= 1) return circuit_.add(Operation::add, sum, evaluate(rest, level));
    return rest_degree == 0 ? add_constant(sum, rest[0]) : sum;
  }

  /// The sum of powers times coefficients, all at one level, rescaled once.
  int leaf(const std::vector<double>& coefficients, int degree, int level) {
    int sum = Circuit::kNone;
    for (int i = 1; i <= degree; ++i) {
      const double c = coefficients[static_cast<std::size_t>(i)];
      if (c == 0) continue;
      const int term = scaled(power(i, level), c);
      sum = sum == Circuit::kNone ? term : circuit_.add(Operation::add, sum, term);
    }
    return circuit_.add(Operation::rescale, add_constant(sum, coefficients[0]));
  }

  Circuit circuit_;
  PolynomialBasis basis_;
  int baby_bits_;
  std::map<std::pair<int, int>, int> powers_;  // index, level
};

int products_in(const Circuit& circuit) {
  return static_cast<int>(std::ranges::count_if(
      circuit.steps(), [](const Circuit::Step& step) { return step.key != Circuit::kNone; }));
}

}  // namespace

int polynomial_depth(std::span<const double> coefficients) {
  return polynomial_depth(degree_of(coefficients));
}

int polynomial_depth(int degree) { return degree <= 0 ? 0 : ceil_log2(degree + 1); }

Circuit polynomial(const Parameters& parameters, const ValueType& operand,
                   std::span<const double> coefficients, PolynomialBasis basis,
                   std::span<const ValueType> keys, int group) {
  const int degree = degree_of(coefficients);
  if (degree < 1 || degree > kMaxPolynomialDegree)
    refuse_polynomial(
        fmt::format("it has degree {}, expected 1 to {}", std::max(degree, 0), kMaxPolynomialDegree));
  for (const double c : coefficients) {
    if (!std::isfinite(c)) refuse_polynomial(fmt::format("a coefficient is {}, expected a finite number", c));
  }
  if (operand.kind != Kind::ciphertext)
    refuse_polynomial(fmt::format("operand 1 is a {}, expected a ciphertext", name(operand.kind)));
  if (operand.level < 0 || operand.level + polynomial_depth(degree) > parameters.max_level()) {
    refuse_polynomial(fmt::format("degree {} takes {} levels, and operand 1 has level {} of {}", degree,
                                  polynomial_depth(degree), operand.level, parameters.max_level()));
  }
  if (parameters.scale_management() != ScaleManagement::automatic)
    refuse_polynomial("scale_management is manual, expected auto: its terms meet at canonical scales");
  if (operand.scale != parameters.canonical_scale(operand.level)) {
    refuse_polynomial(fmt::format("operand 1 has scale {}, expected the canonical {} of level {}",
                                  operand.scale.text(), parameters.canonical_scale(operand.level).text(),
                                  operand.level));
  }
  const std::vector<double> own(coefficients.begin(), coefficients.begin() + degree + 1);
  std::optional<Circuit> best;
  for (int baby_bits = 1; baby_bits <= polynomial_depth(degree); ++baby_bits) {
    Circuit circuit = Builder(parameters, operand, basis, keys, group, baby_bits).build(own);
    const auto cost = [](const Circuit& c) { return std::pair(products_in(c), c.signature().workspace); };
    if (!best || cost(circuit) < cost(*best)) best.emplace(std::move(circuit));
  }
  return *best;
}

}  // namespace fheres::scheme
