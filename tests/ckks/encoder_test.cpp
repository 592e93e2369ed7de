#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"
#include "ckks/embedding.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("roots of unity from integers are those of the library, to the last bits") {
  for (int log_n : {2, 3, 10, 15}) {
    const std::vector<Complex> roots = ckks::unit_roots(log_n);
    REQUIRE(roots.size() == std::size_t{2} << log_n);
    double error = 0;
    for (std::size_t e = 0; e < roots.size(); ++e) {
      const long double angle =
          std::acos(-1.0L) * static_cast<long double>(e) / static_cast<long double>(1 << log_n);
      error = std::max(error, std::abs(roots[e] - Complex(static_cast<double>(std::cos(angle)),
                                                          static_cast<double>(std::sin(angle)))));
    }
    CHECK(error < 2e-16);
  }
}

TEST_CASE("the embedding evaluates at the powers of five, and its inverse undoes it") {
  const int log_n = 6;
  const std::size_t slots = 32;
  const ckks::Embedding embedding(log_n);
  const std::vector<Complex> coefficients = random_message(slots, 3);
  std::vector<Complex> values = coefficients;
  embedding.to_slots(values);
  const std::vector<Complex> roots = ckks::unit_roots(log_n);
  std::size_t power = 1;
  for (std::size_t j = 0; j < slots; ++j, power = power * 5 % 128) {
    Complex expected;
    for (std::size_t k = 0; k < slots; ++k) {
      expected += coefficients[k].real() * roots[k * power % 128] +
                  coefficients[k].imag() * roots[(k + slots) * power % 128];
    }
    CHECK(std::abs(values[j] - expected) < 1e-12);
  }
  embedding.to_coefficients(values);
  CHECK(largest_error(values, coefficients) < 1e-14);
}

TEST_CASE("encoding and decoding loses only the rounding of coefficients") {
  const World w(small_parameters());
  const std::vector<Complex> message = random_message(w.parameters.slots(), 4);
  for (int level : {0, 2, 5}) {
    const ckks::Plaintext plaintext = w.encode(message, level);
    CHECK(plaintext.type().level == level);
    // Rounding: each coefficient within 1/2, N of them: sqrt(N / 12) a slot, five deviations allowed.
    CHECK(largest_error(w.encoder.decode(plaintext.view()), message) < 5 * 9.3 / 0x1p40);
  }
}

TEST_CASE("at N = 2^15 a round trip is far below 1e-9") {
  const World w(scheme::Parameters::make(*scheme::find_preset("slots16384-scale40-levels16")));
  const std::vector<Complex> message = random_message(w.parameters.slots(), 5);
  CHECK(largest_error(w.encoder.decode(w.encode(message).view()), message) < 1e-9);
  const std::vector<double> real{1.0, -0.5, 0.25};
  const ckks::Plaintext short_one =
      w.encoder.encode(std::span<const double>(real), 0, scheme::Scale::power_of_two(50));
  const std::vector<double> back = w.encoder.decode_real(short_one.view());
  CHECK(std::abs(back[0] - 1.0) < 1e-12);
  CHECK(std::abs(back[1] + 0.5) < 1e-12);
  CHECK(std::abs(back[2] - 0.25) < 1e-12);
  CHECK(std::abs(back[3]) < 1e-12);
}

TEST_CASE("coefficients beyond 64 bits are encoded whole") {
  const World w(small_parameters());
  const std::vector<Complex> message = random_message(w.parameters.slots(), 6);
  const ckks::Plaintext plaintext =
      w.encoder.encode(std::span<const Complex>(message), 0, scheme::Scale::power_of_two(90));
  CHECK(largest_error(w.encoder.decode(plaintext.view()), message) < 1e-13);
}

TEST_CASE("coefficients on either side of half of the first prime are decoded") {
  const World w(small_parameters());
  const double first = static_cast<double>(w.parameters.q()[0].value);
  for (const double share : {0.499, 0.501, 0.999, 1.001, 1e3}) {
    for (const double sign : {1.0, -1.0}) {
      CAPTURE(sign * share);
      const double slot = sign * share * first * 0x1p-59;  // of a constant polynomial
      const std::vector<Complex> message(w.parameters.slots(), slot);
      const ckks::Plaintext plaintext =
          w.encoder.encode(std::span<const Complex>(message), 0, scheme::Scale::power_of_two(59));
      CHECK(largest_error(w.encoder.decode(plaintext.view()), message) < 1e-13 * std::abs(slot));
    }
  }
}

TEST_CASE("a message that does not fit is refused") {
  const World w(small_parameters());
  const scheme::Scale scale = w.parameters.canonical_scale(0);
  CHECK_THROWS_AS(w.encode(random_message(w.parameters.slots() + 1, 1)), scheme::ParameterError);
  CHECK_THROWS_AS(w.encode({{std::nan(""), 0}}), scheme::ParameterError);
  CHECK_THROWS_AS(w.encode({{INFINITY, 0}}), scheme::ParameterError);
  CHECK_THROWS_AS(w.encode({{1e9, 0}, {0, 1}, {1e9, 0}}, 5).type(), scheme::ParameterError);
  const std::vector<double> one{1.0};
  CHECK_THROWS_AS(w.encoder.encode(std::span<const double>(one), 6, scale), scheme::ParameterError);
  CHECK_THROWS_AS(w.encoder.encode(std::span<const double>(one), -1, scale), scheme::ParameterError);
}
