#include <doctest/doctest.h>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;
using scheme::Scalar;

TEST_CASE(
    "numbers are added to every slot, subtracted from it, and it from them, at any scale, in place too") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 40);
  for (int level : {0, 3, 5}) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    for (double value : {0.75, -0.3, 0.0, 1e3}) {
      CAPTURE(level);
      CAPTURE(value);
      const Scalar scalar{value, {}};
      const auto run = [&](Operation operation) {
        return w.decrypt(w.apply(operation, {&a}, nullptr, nullptr, &scalar));
      };
      CHECK(largest_error(run(Operation::add_scalar), each(x, [&](std::size_t i) { return x[i] + value; })) <
            1e-7);
      CHECK(largest_error(run(Operation::sub_scalar), each(x, [&](std::size_t i) { return x[i] - value; })) <
            1e-7);
      CHECK(largest_error(run(Operation::scalar_sub), each(x, [&](std::size_t i) { return value - x[i]; })) <
            1e-7);
    }
  }
  ckks::Ciphertext in_place = w.encrypt(x);
  w.evaluator.scalar_sub(in_place.view(), {0.5, {}}, in_place.ref(), {});
  w.evaluator.add_scalar(in_place.view(), {-0.5, {}}, in_place.ref(), {});
  CHECK(largest_error(w.decrypt(in_place), each(x, [&](std::size_t i) { return -x[i]; })) < 1e-7);
}

TEST_CASE("a product by a number rescales to the next canonical scale") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 41);
  for (int level = 0; level < w.parameters.max_level(); ++level) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    for (double value : {0.1, -0.7, 0.0, 3.0}) {
      const Scalar scalar{value, {}};
      const ckks::Ciphertext product = w.apply(Operation::multiply_scalar, {&a}, nullptr, nullptr, &scalar);
      const ckks::Ciphertext result = w.apply(Operation::rescale, {&product});
      CHECK(result.type() == scheme::ciphertext_type(w.parameters, level + 1));
      CHECK(largest_error(w.decrypt(result), each(x, [&](std::size_t i) { return value * x[i]; })) < 1e-7);
    }
  }
}

TEST_CASE("a product by a whole number at scale 2^0 keeps level and scale, and is a sum") {
  const World w(small_parameters());
  const ckks::Ciphertext a = w.encrypt(random_message(w.parameters.slots(), 42), 1);
  const Scalar three{3, scheme::Scale::power_of_two(0)};
  const ckks::Ciphertext product = w.apply(Operation::multiply_scalar, {&a}, nullptr, nullptr, &three);
  CHECK(product.type() == a.type());
  const ckks::Ciphertext twice = w.apply(Operation::add, {&a, &a});
  CHECK(same_bytes(product.bytes(), w.apply(Operation::add, {&twice, &a}).bytes()));
}

TEST_CASE("a number acts as the plaintext that has it in every slot") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 43);
  const ckks::Ciphertext a = w.encrypt(x, 2);
  const ckks::Plaintext p = w.encode(std::vector<Complex>(x.size(), {-0.40625, 0}), 2);
  const Scalar scalar{-0.40625, {}};
  for (const auto& [with_scalar, with_plaintext] :
       {std::pair{Operation::add_scalar, Operation::add_plain},
        std::pair{Operation::sub_scalar, Operation::sub_plain},
        std::pair{Operation::scalar_sub, Operation::plain_sub},
        std::pair{Operation::multiply_scalar, Operation::multiply_plain}}) {
    CHECK(same_bytes(w.apply(with_scalar, {&a}, nullptr, nullptr, &scalar).bytes(),
                     w.apply(with_plaintext, {&a}, &p).bytes()));
  }
}

TEST_CASE("numbers that do not fit, or are none, are refused, and nothing is written") {
  const World w(small_parameters());
  const ckks::Ciphertext a = w.encrypt(random_message(w.parameters.slots(), 44), 5);
  ckks::Ciphertext out(w.parameters, a.type());
  std::ranges::fill(out.bytes(), std::byte{0x5a});
  for (double value : {std::nan(""), static_cast<double>(INFINITY), 1e40, 1e9}) {
    CHECK_THROWS_AS(w.evaluator.add_scalar(a.view(), {value, {}}, out.ref(), {}), scheme::StateError);
    CHECK_THROWS_AS(
        w.evaluator.multiply_scalar(a.view(), {value, scheme::Scale::power_of_two(0)}, out.ref(), {}),
        scheme::StateError);
  }
  CHECK_THROWS_AS(w.apply(Operation::add_scalar, {&a}), scheme::StateError);
  const Scalar scalar{1, {}};
  CHECK_THROWS_AS(w.apply(Operation::negate, {&a}, nullptr, nullptr, &scalar), scheme::StateError);
  CHECK(std::ranges::all_of(out.bytes(), [](std::byte b) { return b == std::byte{0x5a}; }));
}
