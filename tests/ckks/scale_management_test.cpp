#include <string>

#include <doctest/doctest.h>

#include <fheres/scheme/polynomial.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;
using scheme::Scale;

TEST_CASE("managed by hand, scales stay exact: a product divides by the prime, going down drops a limb") {
  const World w(small_parameters(2, 0, scheme::ScaleManagement::manual));
  const scheme::Parameters& p = w.parameters;
  const std::vector<Complex> x = random_message(p.slots(), 110);
  const std::vector<Complex> y = random_message(p.slots(), 111);
  const ckks::SwitchingKey key = w.keys.relinearization_key(w.secret, 0, "relin");
  CHECK(p.canonical_scale(3) == Scale::power_of_two(40));
  for (int level : {0, 2, 4}) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    const ckks::Ciphertext b = w.encrypt(y, level);
    CHECK(a.type().scale == Scale::power_of_two(40));
    const std::uint64_t prime = p.prime(p.limbs(level) - 1).value;
    const ckks::Ciphertext product = w.apply(Operation::multiply_rescale, {&a, &b}, nullptr, &key);
    CHECK(product.type().scale == Scale::power_of_two(80).over(prime));
    CHECK(largest_error(w.decrypt(product), each(x, [&](std::size_t i) { return x[i] * y[i]; })) < 1e-7);

    const ckks::Ciphertext lower = w.apply(Operation::mod_switch, {&a});
    CHECK(lower.type().scale == a.type().scale);
    // Exactly the same integers, on fewer limbs.
    CHECK(same_bytes(lower.bytes(), a.bytes().first(lower.bytes().size())));
    CHECK(largest_error(w.decrypt(lower), x) < 1e-7);
    const scheme::ValueType types[] = {a.type()};
    CHECK(scheme::infer(p, Operation::mod_switch, types).workspace == 0);
  }
}

TEST_CASE(
    "managed by hand, unequal scales are refused with both figures, and met by choosing the scalar's scale") {
  const World w(small_parameters(2, 0, scheme::ScaleManagement::manual));
  const scheme::Parameters& p = w.parameters;
  const std::vector<Complex> x = random_message(p.slots(), 112);
  const ckks::Ciphertext a = w.encrypt(x);
  const scheme::Scalar half{0.5, {}};
  const ckks::Ciphertext scaled = w.apply(Operation::multiply_scalar, {&a}, nullptr, nullptr, &half);
  const ckks::Ciphertext product = w.apply(Operation::rescale, {&scaled});
  const ckks::Ciphertext lower = w.apply(Operation::mod_switch, {&a});
  std::string message;
  try {
    w.apply(Operation::add, {&product, &lower});
  } catch (const scheme::StateError& error) {
    message = error.what();
  }
  CHECK(message.find("operand 1 has scale " + product.type().scale.text() + " and operand 2 scale 2^40") !=
        std::string::npos);

  // Scaled by the prime that goes, a product comes back to the scale that it had.
  const scheme::Scalar exact{0.5, Scale::from_integer(p.prime(p.limbs(0) - 1).value)};
  const ckks::Ciphertext by_prime = w.apply(Operation::multiply_scalar, {&a}, nullptr, nullptr, &exact);
  const ckks::Ciphertext back = w.apply(Operation::rescale, {&by_prime});
  CHECK(back.type() == lower.type());
  CHECK(largest_error(w.decrypt(w.apply(Operation::add, {&back, &lower})),
                      each(x, [&](std::size_t i) { return 1.5 * x[i]; })) < 1e-7);
}

TEST_CASE("managed by hand, parameters keep their id, and a polynomial says that it needs the other way") {
  const scheme::Parameters manual = small_parameters(2, 0, scheme::ScaleManagement::manual);
  CHECK(manual.id() == small_parameters(2).id());
  const std::vector<double> c{0, 1};
  CHECK_THROWS_AS(
      scheme::polynomial(manual, scheme::ciphertext_type(manual), c, scheme::PolynomialBasis::power, {}),
      scheme::StateError);
}
