#include <doctest/doctest.h>

#include <fheres/scheme/polynomial.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::PolynomialBasis;

namespace {

// N = 2^10, 60 + 8 x 40.
scheme::Parameters deep_parameters() {
  scheme::ParametersLiteral literal;
  literal.log_n = 10;
  literal.q.assign(9, {40, {}});
  literal.q[0].bits = 60;
  literal.p.assign(3, {60, {}});
  literal.scale_bits = 40;
  literal.security = scheme::SecurityTable::none;
  return scheme::Parameters::make(literal);
}

double value_at(double x, const std::vector<double>& c, PolynomialBasis basis) {
  double sum = 0, before = 1, power = x;  // T_(i - 1), T_i
  if (basis == PolynomialBasis::power) {
    for (std::size_t i = c.size(); i-- > 0;) sum = sum * x + c[i];
    return sum;
  }
  sum = c[0];
  for (std::size_t i = 1; i < c.size(); ++i) {
    sum += c[i] * power;
    const double next = 2 * x * power - before;
    before = power;
    power = next;
  }
  return sum;
}

std::vector<double> random_coefficients(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> c(count);
  for (double& value : c) value = draw(random);
  return c;
}

std::vector<Complex> real_message(const World& w, unsigned seed) {
  std::vector<Complex> x = random_message(w.parameters.slots(), seed);
  for (Complex& value : x) value = value.real();
  x[0] = 1;
  x[1] = -1;
  x[2] = 0;
  return x;
}

int products(const scheme::Circuit& circuit) {
  int count = 0;
  for (const scheme::Circuit::Step& step : circuit.steps()) count += step.key != scheme::Circuit::kNone;
  return count;
}

}  // namespace

TEST_CASE(
    "polynomials of every degree come out right in both bases, at depth ceil(log2(degree + 1)), below the "
    "bound") {
  const World w(deep_parameters());
  const ckks::SwitchingKey key = w.keys.relinearization_key(w.secret, 0, "relin");
  const std::vector<scheme::ValueType> key_types{key.type()};
  const std::vector<Complex> x = real_message(w, 100);
  for (const PolynomialBasis basis : {PolynomialBasis::power, PolynomialBasis::chebyshev}) {
    for (int degree : {1, 2, 3, 4, 5, 7, 8, 11, 16, 31, 63, 100}) {
      const int level = degree % 2;
      CAPTURE(degree);
      CAPTURE(basis == PolynomialBasis::power);
      std::vector<double> c = random_coefficients(static_cast<std::size_t>(degree) + 1, 101);
      // Sparse and padded ones too.
      if (degree % 3 == 2) c[1] = 0;
      if (degree % 5 == 0) c[0] = 0;
      if (degree % 4 == 3) c.push_back(0);
      const ckks::Ciphertext a = w.encrypt(x, level);
      const scheme::Circuit circuit = scheme::polynomial(w.parameters, a.type(), c, basis, key_types);
      int depth = 0;
      while ((1 << depth) < degree + 1) ++depth;
      CHECK(circuit.signature().result == scheme::ciphertext_type(w.parameters, level + depth));
      const ckks::Ciphertext out = w.run(circuit, a, {key.view()});
      const std::vector<Complex> expected =
          each(x, [&](std::size_t i) { return Complex(value_at(x[i].real(), c, basis)); });
      const double error = largest_error(w.decrypt(out), expected);
      CHECK(error < circuit.estimate(scheme::fresh_estimate(w.parameters, a.type().scale, 1)).bound());
      CHECK(error < 2e-6 * degree * degree);
    }
  }
}

TEST_CASE("odd and even polynomials and single powers make no power that they do not need") {
  const World w(deep_parameters());
  const ckks::SwitchingKey key = w.keys.relinearization_key(w.secret, 0, "relin");
  const std::vector<scheme::ValueType> key_types{key.type()};
  const std::vector<Complex> x = real_message(w, 102);
  const ckks::Ciphertext a = w.encrypt(x);
  std::vector<double> eighth(9);
  eighth[8] = 0.5;
  std::vector<double> odd(8);
  for (std::size_t i = 1; i < 8; i += 2) odd[i] = 1.0 / static_cast<double>(i);
  for (const auto& [c, most] : {std::pair{eighth, 3}, std::pair{odd, 5}}) {
    const scheme::Circuit circuit =
        scheme::polynomial(w.parameters, a.type(), c, PolynomialBasis::power, key_types);
    CHECK(products(circuit) <= most);
    CHECK(largest_error(w.decrypt(w.run(circuit, a, {key.view()})), each(x, [&](std::size_t i) {
                          return Complex(value_at(x[i].real(), c, PolynomialBasis::power));
                        })) < 1e-6);
  }
}

TEST_CASE(
    "the number of products is that of Paterson and Stockmeyer, and one a level of the path without slack") {
  const scheme::Parameters p = deep_parameters();
  const std::vector<scheme::ValueType> keys{scheme::relinearization_key_type()};
  const auto count = [&](int degree, PolynomialBasis basis) {
    return products(scheme::polynomial(p, scheme::ciphertext_type(p),
                                       random_coefficients(static_cast<std::size_t>(degree) + 1, 103), basis,
                                       keys));
  };
  CHECK(count(1, PolynomialBasis::power) == 0);
  CHECK(count(3, PolynomialBasis::power) == 2);
  CHECK(count(15, PolynomialBasis::power) == 8);
  CHECK(count(15, PolynomialBasis::chebyshev) == 8);
  CHECK(count(63, PolynomialBasis::power) == 18);
  CHECK(count(63, PolynomialBasis::chebyshev) == 18);
}

TEST_CASE("a polynomial without a level, a key, a canonical scale or a degree is refused") {
  const scheme::Parameters p = deep_parameters();
  const std::vector<scheme::ValueType> keys{scheme::relinearization_key_type()};
  const auto refusal = [&](const scheme::ValueType& operand, const std::vector<double>& c,
                           std::span<const scheme::ValueType> some) -> std::string {
    try {
      scheme::polynomial(p, operand, c, PolynomialBasis::power, some);
    } catch (const scheme::StateError& error) {
      return error.what();
    }
    return "";
  };
  const scheme::ValueType x = scheme::ciphertext_type(p);
  CHECK(refusal(x, {0, 1}, {}).empty());
  CHECK(refusal(x, {0, 0, 1}, {}) == "square_rescale: none of the 0 keys is a relinearization-key");
  CHECK(refusal(scheme::ciphertext_type(p, 6), {0, 0, 0, 0, 1}, keys) ==
        "polynomial: degree 4 takes 3 levels, and operand 1 has level 6 of 8");
  CHECK(refusal(x, {1, 0}, keys) == "polynomial: it has degree 0, expected 1 to 1023");
  CHECK(refusal(x, {1, std::nan("")}, keys).find("expected a finite number") != std::string::npos);
  scheme::ValueType other = x;
  other.scale = scheme::Scale::power_of_two(45);
  CHECK(refusal(other, {0, 1}, keys).find("operand 1 has scale 2^45, expected the canonical 2^40") !=
        std::string::npos);
}
