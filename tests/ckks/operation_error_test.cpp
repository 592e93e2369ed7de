#include <doctest/doctest.h>

#include <fheres/scheme/operation_error.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Estimate;
using scheme::Operation;

namespace {

// A ciphertext with its clear message and what is expected of its error.
struct Tracked {
  ckks::Ciphertext value;
  std::vector<Complex> clear;
  Estimate estimate;
};

double largest(const std::vector<Complex>& message) {
  double size = 0;
  for (const Complex& slot : message) size = std::max(size, std::abs(slot));
  return size;
}

struct Chain : World {
  using World::World;

  Tracked fresh(unsigned seed, int level = 0) const {
    std::vector<Complex> message = random_message(parameters.slots(), seed);
    ckks::Ciphertext value = encrypt(message, level);
    const double size = largest(message);
    return {std::move(value), std::move(message),
            scheme::fresh_estimate(parameters, parameters.canonical_scale(level), size)};
  }

  // Runs the operation, and checks the result against the clear one.
  Tracked run(Operation operation, std::vector<const Tracked*> in, std::vector<Complex> clear,
              const ckks::SwitchingKey* key = nullptr, const ckks::Plaintext* plaintext = nullptr,
              const scheme::Scalar* scalar = nullptr) const {
    std::vector<const ckks::Ciphertext*> values;
    std::vector<scheme::ValueType> types;
    std::vector<Estimate> estimates;
    for (const Tracked* operand : in) {
      values.push_back(&operand->value);
      types.push_back(operand->value.type());
      estimates.push_back(operand->estimate);
    }
    if (plaintext != nullptr) {
      types.push_back(plaintext->type());
      estimates.push_back(scheme::encoded_estimate(parameters, plaintext->type().scale, 2));
    }
    Tracked result{apply(operation, values, plaintext, key, scalar), std::move(clear),
                   scheme::estimate(parameters, operation, types, estimates,
                                    key == nullptr ? nullptr : &key->type(), scalar)};
    CAPTURE(scheme::name(operation));
    CAPTURE(result.value.type().level);
    const double error = largest_error(decrypt(result.value), result.clear);
    CHECK(error < result.estimate.bound());
    // A bound that is far off says nothing.
    CHECK(error > result.estimate.bound() / 1e4);
    CHECK(largest(result.clear) <= result.estimate.magnitude * (1 + 1e-9));
    return result;
  }
};

}  // namespace

TEST_CASE(
    "after each of 20 chained operations the error is below the bound computed from the operations' errors") {
  for (const auto& [special, digit_limbs] : {std::pair{1, 1}, std::pair{2, 0}, std::pair{3, 3}}) {
    CAPTURE(special);
    const Chain w(small_parameters(special, digit_limbs));
    const ckks::SwitchingKey rotation = w.keys.rotation_key(w.secret, 7, 0, "rot");
    const ckks::SwitchingKey conjugation = w.keys.conjugation_key(w.secret, 0, "conj");
    const ckks::SwitchingKey relinearization = w.keys.relinearization_key(w.secret, 0, "relin");
    const scheme::Scalar half{0.5, {}};
    const scheme::Scalar third{-1.0 / 3, {}};
    int operations = 0;
    Tracked x = w.fresh(60);
    const auto next = [&](Operation operation, std::vector<Complex> clear,
                          const ckks::SwitchingKey* key = nullptr, const scheme::Scalar* scalar = nullptr) {
      x = w.run(operation, {&x}, std::move(clear), key, nullptr, scalar);
      ++operations;
    };
    for (int round = 0; round < 4; ++round) {
      const int level = x.value.type().level;
      next(Operation::rotate, rotated(x.clear, 7), &rotation);
      if (round % 2 == 0) {
        next(Operation::square_rescale, each(x.clear, [&](std::size_t i) { return x.clear[i] * x.clear[i]; }),
             &relinearization);
      } else {
        const std::vector<Complex> y = random_message(w.parameters.slots(), 61);
        const ckks::Plaintext p = w.encode(y, level);
        x = w.run(Operation::multiply_plain, {&x}, each(y, [&](std::size_t i) { return x.clear[i] * y[i]; }),
                  nullptr, &p);
        ++operations;
        next(Operation::rescale, x.clear);
      }
      next(Operation::conjugate, each(x.clear, [&](std::size_t i) { return std::conj(x.clear[i]); }),
           &conjugation);
      next(Operation::add_scalar, each(x.clear, [&](std::size_t i) { return x.clear[i] + 0.5; }), nullptr,
           &half);
      x = w.run(Operation::add, {&x, &x}, each(x.clear, [&](std::size_t i) { return 2.0 * x.clear[i]; }));
      ++operations;
    }
    CHECK(operations >= 20);
    next(Operation::multiply_scalar, each(x.clear, [&](std::size_t i) { return x.clear[i] * third.value; }),
         nullptr, &third);
    next(Operation::rescale, x.clear);
  }
}

TEST_CASE("products, three components and the way down stay below their bounds too") {
  const Chain w(small_parameters(2));
  const ckks::SwitchingKey relinearization = w.keys.relinearization_key(w.secret, 0, "relin");
  const Tracked x = w.fresh(62);
  const Tracked y = w.fresh(63);
  const std::vector<Complex> clear = each(x.clear, [&](std::size_t i) { return x.clear[i] * y.clear[i]; });
  const Tracked three = w.run(Operation::multiply, {&x, &y}, clear);
  w.run(Operation::rescale, {&three}, clear);
  const Tracked two = w.run(Operation::relinearize, {&three}, clear, &relinearization);
  const Tracked product = w.run(Operation::rescale, {&two}, clear);
  w.run(Operation::mod_switch, {&product}, clear);
  w.run(Operation::multiply, {&x, &y}, clear, &relinearization);
  w.run(Operation::negate, {&x}, each(x.clear, [&](std::size_t i) { return -x.clear[i]; }));
}
