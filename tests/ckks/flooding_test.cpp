#include <doctest/doctest.h>

#include <fheres/ckks/flooding.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("flooding adds noise of the deviation that it says, and the message stays in it") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 80);
  for (const int bits : {20, 25, 30}) {
    CAPTURE(bits);
    ckks::Plaintext plaintext = w.encode(x, 2);
    ckks::flood(w.context, plaintext, bits, ckks::Randomness::from_system().seed({}));
    const std::vector<Complex> y = w.encoder.decode(plaintext.view());
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) squares += std::norm(y[i] - x[i]);
    const double deviation = std::sqrt(squares / static_cast<double>(x.size()));
    const double expected = ckks::flooding_deviation(w.parameters, plaintext.type().scale, bits);
    CHECK(deviation > 0.8 * expected);
    CHECK(deviation < 1.2 * expected);
  }
}

TEST_CASE("flooding noise that a level has no room for is refused") {
  const World w(small_parameters());
  const ckks::Seed seed = ckks::Randomness::from_system().seed({});
  ckks::Plaintext plaintext = w.encode(random_message(w.parameters.slots(), 81), w.parameters.max_level());
  CHECK_NOTHROW(ckks::flood(w.context, plaintext, 57, seed));
  for (const int bits : {-1, 59, 63}) {
    CHECK_THROWS_AS(ckks::flood(w.context, plaintext, bits, seed), scheme::ParameterError);
  }
}
