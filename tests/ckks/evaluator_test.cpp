#include <optional>

#include <doctest/doctest.h>

#include <fheres/memory/emulated.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using scheme::Operation;

namespace {

// Six deviations of a slot whose coefficients have this deviation.
double slot_bound(const World& w, double deviation, int level) {
  return 6 * deviation * std::sqrt(static_cast<double>(w.parameters.n())) /
         w.parameters.canonical_scale(level).to_double();
}

}  // namespace

TEST_CASE("encryption is undone by decryption, within the fresh error, at every level") {
  const World w(small_parameters());
  for (int level = 0; level <= w.parameters.max_level(); ++level) {
    const std::vector<Complex> message =
        random_message(w.parameters.slots(), 10U + static_cast<unsigned>(level));
    const double error = largest_error(w.decrypt(w.encrypt(message, level)), message);
    CHECK(error < slot_bound(w, w.parameters.fresh_deviation(), level));
    CHECK(error > 0);
  }
}

TEST_CASE("sums, differences, negatives, with ciphertexts and plaintexts, in place too") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 20);
  const std::vector<Complex> y = random_message(w.parameters.slots(), 21);
  const ckks::Ciphertext a = w.encrypt(x, 1);
  const ckks::Ciphertext b = w.encrypt(y, 1);
  const ckks::Plaintext p = w.encode(y, 1);
  const auto sum = each(x, [&](std::size_t i) { return x[i] + y[i]; });
  const auto difference = each(x, [&](std::size_t i) { return x[i] - y[i]; });
  CHECK(largest_error(w.decrypt(w.apply(Operation::add, {&a, &b})), sum) < 1e-7);
  CHECK(largest_error(w.decrypt(w.apply(Operation::sub, {&a, &b})), difference) < 1e-7);
  CHECK(largest_error(w.decrypt(w.apply(Operation::add_plain, {&a}, &p)), sum) < 1e-7);
  CHECK(largest_error(w.decrypt(w.apply(Operation::sub_plain, {&a}, &p)), difference) < 1e-7);
  CHECK(largest_error(w.decrypt(w.apply(Operation::negate, {&a})),
                      each(x, [&](std::size_t i) { return -x[i]; })) < 1e-7);
  ckks::Ciphertext in_place = w.encrypt(x, 1);
  w.evaluator.add(in_place.view(), b.view(), in_place.ref(), {});
  w.evaluator.sub_plain(in_place.view(), p.view(), in_place.ref(), {});
  CHECK(largest_error(w.decrypt(in_place), x) < 1e-7);
}

TEST_CASE("a product by a plaintext of the same or an earlier level, rescaled to the canonical scale") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 22);
  const std::vector<Complex> y = random_message(w.parameters.slots(), 23);
  const auto product = each(x, [&](std::size_t i) { return x[i] * y[i]; });
  for (int level = 0; level < w.parameters.max_level(); ++level) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    for (int plain_level : {level, 0}) {
      const ckks::Plaintext p =
          w.encoder.encode(std::span<const Complex>(y), plain_level, w.parameters.canonical_scale(level));
      const ckks::Ciphertext scaled = w.apply(Operation::multiply_plain, {&a}, &p);
      const ckks::Ciphertext result = w.apply(Operation::rescale, {&scaled});
      CHECK(result.type().level == level + 1);
      CHECK(result.type().scale == w.parameters.canonical_scale(level + 1));
      CHECK(largest_error(w.decrypt(result), product) < 1e-7);
    }
  }
}

TEST_CASE("rotation moves slot i to slot i + steps, at every level, for every shape of digits") {
  for (const auto& [special, digit_limbs] :
       {std::pair{1, 0}, std::pair{2, 2}, std::pair{3, 4}, std::pair{1, 1}}) {
    const World w(small_parameters(special, digit_limbs));
    const std::vector<Complex> x = random_message(w.parameters.slots(), 24);
    for (std::int64_t steps : {std::int64_t{1}, std::int64_t{-3}, std::int64_t{300}}) {
      const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, steps, 0, "rot");
      for (int level = 0; level <= w.parameters.max_level(); ++level) {
        CAPTURE(special);
        CAPTURE(steps);
        CAPTURE(level);
        const ckks::Ciphertext a = w.encrypt(x, level);
        const ckks::Ciphertext turned = w.apply(Operation::rotate, {&a}, nullptr, &key);
        const double error = largest_error(w.decrypt(turned), rotated(x, steps));
        const double deviation =
            std::hypot(w.parameters.fresh_deviation(), w.parameters.key_switch_deviation(level));
        CHECK(error < slot_bound(w, deviation, level));
      }
    }
  }
}

TEST_CASE("a key made at a deeper level serves from there on, and not before") {
  const World w(small_parameters(2));
  const std::vector<Complex> x = random_message(w.parameters.slots(), 25);
  const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, 5, 2, "rot");
  for (int level : {2, 4, 5}) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    CHECK(largest_error(w.decrypt(w.apply(Operation::rotate, {&a}, nullptr, &key)), rotated(x, 5)) < 1e-7);
  }
  const ckks::Ciphertext fresh = w.encrypt(x, 1);
  CHECK_THROWS_AS(w.apply(Operation::rotate, {&fresh}, nullptr, &key), scheme::StateError);
}

TEST_CASE("conjugation, products of ciphertexts, relinearized together or apart") {
  const World w(small_parameters(2));
  const std::vector<Complex> x = random_message(w.parameters.slots(), 26);
  const std::vector<Complex> y = random_message(w.parameters.slots(), 27);
  const ckks::SwitchingKey conjugation = w.keys.conjugation_key(w.secret, 0, "conj");
  const ckks::SwitchingKey relinearization = w.keys.relinearization_key(w.secret, 0, "relin");
  for (int level : {0, 1, 4}) {
    const ckks::Ciphertext a = w.encrypt(x, level);
    const ckks::Ciphertext b = w.encrypt(y, level);
    CHECK(largest_error(w.decrypt(w.apply(Operation::conjugate, {&a}, nullptr, &conjugation)),
                        each(x, [&](std::size_t i) { return std::conj(x[i]); })) < 1e-7);

    const auto product = each(x, [&](std::size_t i) { return x[i] * y[i]; });
    const ckks::Ciphertext three = w.apply(Operation::multiply, {&a, &b});
    CHECK(three.type().components == 3);
    CHECK(largest_error(w.decrypt(three), product) < 1e-7);
    const ckks::Ciphertext apart = w.apply(Operation::relinearize, {&three}, nullptr, &relinearization);
    const ckks::Ciphertext together = w.apply(Operation::multiply, {&a, &b}, nullptr, &relinearization);
    CHECK(same_bytes(apart.bytes(), together.bytes()));
    CHECK(largest_error(w.decrypt(w.apply(Operation::rescale, {&together})), product) < 1e-7);

    const ckks::Ciphertext square = w.apply(Operation::square, {&a}, nullptr, &relinearization);
    const ckks::Ciphertext same = w.apply(Operation::multiply, {&a, &a}, nullptr, &relinearization);
    CHECK(same_bytes(square.bytes(), same.bytes()));
    const ckks::Ciphertext square_of_three = w.apply(Operation::square, {&a});
    CHECK(largest_error(w.decrypt(square_of_three), each(x, [&](std::size_t i) { return x[i] * x[i]; })) <
          1e-7);
    const ckks::Ciphertext rescaled_three = w.apply(Operation::rescale, {&three});
    CHECK(largest_error(w.decrypt(rescaled_three), product) < 1e-7);
  }
}

TEST_CASE("an uncanonical scale switches down by dropping a limb, and needs no workspace") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 34);
  const ckks::Plaintext p = w.encoder.encode(std::span<const Complex>(x), 1, scheme::Scale::power_of_two(50));
  const ckks::Ciphertext a = w.encryptor.encrypt(p.view(), "x");
  const ckks::Ciphertext lower = w.apply(Operation::mod_switch, {&a});
  CHECK(lower.type().level == 2);
  CHECK(lower.type().scale == a.type().scale);
  CHECK(largest_error(w.decrypt(lower), x) < 1e-9);
}

TEST_CASE("switching down keeps the message and lands on the next canonical scale") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 28);
  ckks::Ciphertext a = w.encrypt(x, 0);
  for (int level = 1; level <= w.parameters.max_level(); ++level) {
    a = w.apply(Operation::mod_switch, {&a});
    CHECK(a.type().level == level);
    CHECK(a.type().scale == w.parameters.canonical_scale(level));
    CHECK(largest_error(w.decrypt(a), x) < 1e-7);
  }
  CHECK_THROWS_AS(w.apply(Operation::mod_switch, {&a}), scheme::StateError);
}

TEST_CASE("a polynomial of rotations and products over all levels stays near its clear text") {
  const World w(small_parameters(2));
  std::vector<Complex> x = random_message(w.parameters.slots(), 29);
  const std::vector<Complex> y = random_message(w.parameters.slots(), 30);
  const ckks::SwitchingKey rotation = w.keys.rotation_key(w.secret, 7, 0, "rot");
  const ckks::SwitchingKey relinearization = w.keys.relinearization_key(w.secret, 0, "relin");
  ckks::Ciphertext a = w.encrypt(x);
  for (int level = 0; level + 1 < w.parameters.max_level(); ++level) {
    // x := rotate(x)^2 + x, the second term switched down to meet the first.
    ckks::Ciphertext turned = w.apply(Operation::rotate, {&a}, nullptr, &rotation);
    ckks::Ciphertext square = w.apply(Operation::square, {&turned}, nullptr, &relinearization);
    ckks::Ciphertext scaled = w.apply(Operation::rescale, {&square});
    ckks::Ciphertext lowered = w.apply(Operation::mod_switch, {&a});
    a = w.apply(Operation::add, {&scaled, &lowered});
    const std::vector<Complex> clear = rotated(x, 7);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = clear[i] * clear[i] + x[i];
    double magnitude = 1;
    for (const Complex& value : x) magnitude = std::max(magnitude, std::abs(value));
    CHECK(largest_error(w.decrypt(a), x) < 1e-6 * magnitude * magnitude);
  }
}

TEST_CASE("every group size gives the same bytes, in exactly the workspace of the formula") {
  const scheme::Parameters parameters = small_parameters(2);
  const World whole(parameters);
  const std::vector<Complex> x = random_message(parameters.slots(), 31);
  const ckks::SwitchingKey rotation = whole.keys.rotation_key(whole.secret, 3, 0, "rot");
  const ckks::SwitchingKey relinearization = whole.keys.relinearization_key(whole.secret, 0, "relin");
  for (int level = 0; level <= parameters.max_level(); ++level) {
    const ckks::Ciphertext a = whole.encrypt(x, level);
    const ckks::Ciphertext turned = whole.apply(Operation::rotate, {&a}, nullptr, &rotation);
    for (int group : {1, 2, 3, 4, 6, 100}) {
      CAPTURE(group);
      CAPTURE(level);
      const World grouped(parameters, group);
      CHECK(same_bytes(grouped.apply(Operation::rotate, {&a}, nullptr, &rotation).bytes(), turned.bytes()));
    }
    if (level == parameters.max_level()) continue;
    const ckks::Ciphertext square = whole.apply(Operation::square, {&a}, nullptr, &relinearization);
    const World grouped(parameters, 2);
    CHECK(same_bytes(grouped.apply(Operation::square, {&a}, nullptr, &relinearization).bytes(),
                     square.bytes()));
  }
}

TEST_CASE("a stream's operations give the same bytes as the calling thread's") {
  const scheme::Parameters parameters = small_parameters();
  const World w(parameters);
  const std::vector<Complex> x = random_message(parameters.slots(), 32);
  const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, 1, 0, "rot");
  const ckks::Ciphertext a = w.encrypt(x);
  const ckks::Ciphertext expected = w.apply(Operation::rotate, {&a}, nullptr, &key);

  const auto driver = memory::make_emulated_driver();
  const ckks::Evaluator evaluator(ckks::Context(parameters, ring::make_cpu_backend(parameters, driver)));
  const memory::Stream stream = driver->make_stream(memory::Location::cuda(0), "compute");
  ckks::Ciphertext out(parameters, a.type());
  std::vector<std::byte> workspace(scheme::key_switch_workspace(parameters, 0, 0));
  evaluator.rotate(a.view(), key.view(), out.ref(), workspace, stream);
  driver->synchronize(stream);
  CHECK(same_bytes(out.bytes(), expected.bytes()));
}

TEST_CASE("wrong operands, results and workspaces are refused, and nothing is written") {
  const World w(small_parameters());
  const std::vector<Complex> x = random_message(w.parameters.slots(), 33);
  const ckks::Ciphertext a = w.encrypt(x, 0);
  const ckks::Ciphertext deeper = w.encrypt(x, 1);
  const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, 1, 0, "rot");
  ckks::Ciphertext out(w.parameters, a.type());
  std::ranges::fill(out.bytes(), std::byte{0x5a});
  ckks::Ciphertext wrong(w.parameters, deeper.type());
  std::vector<std::byte> workspace(scheme::key_switch_workspace(w.parameters, 0, 0));

  CHECK_THROWS_AS(w.evaluator.add(a.view(), deeper.view(), out.ref(), {}), scheme::StateError);
  CHECK_THROWS_AS(w.evaluator.add(a.view(), a.view(), wrong.ref(), {}), scheme::StateError);
  CHECK_THROWS_AS(w.evaluator.multiply(a.view(), a.view(), out.ref(), {}), scheme::StateError);
  CHECK_THROWS_AS(w.evaluator.rotate(a.view(), key.view(), out.ref(),
                                     std::span(workspace).first(workspace.size() - 1), {}),
                  scheme::StateError);
  CHECK_THROWS_AS(w.evaluator.conjugate(a.view(), key.view(), out.ref(), workspace, {}), scheme::StateError);
  CHECK_THROWS_AS(w.evaluator.rescale(a.view(), wrong.ref(), workspace, {}), scheme::StateError);
  CHECK(std::ranges::all_of(out.bytes(), [](std::byte b) { return b == std::byte{0x5a}; }));
  ckks::Ciphertext self = w.encrypt(x, 0);
  CHECK_THROWS_AS(w.evaluator.rotate(self.view(), key.view(), self.ref(), workspace, {}), scheme::StateError);
}

TEST_CASE("rotate, multiply by a plaintext, rescale at the sample's preset errs far below 1e-5") {
  const World w(scheme::Parameters::make(*scheme::find_preset("slots8192-scale40-levels7")));
  const std::size_t slots = w.parameters.slots();
  std::vector<Complex> x(slots);
  for (std::size_t i = 0; i < slots; ++i) x[i] = 0.01 * std::sin(0.017 * static_cast<double>(i));
  const ckks::SwitchingKey key = w.keys.rotation_key(w.secret, 1, 0, "rot1");
  const ckks::Plaintext half = w.encode(std::vector<Complex>(slots, {0.5, 0}));
  const ckks::Ciphertext a = w.encrypt(x);
  const ckks::Ciphertext turned = w.apply(Operation::rotate, {&a}, nullptr, &key);
  const ckks::Ciphertext scaled = w.apply(Operation::multiply_plain, {&turned}, &half);
  const ckks::Ciphertext y = w.apply(Operation::rescale, {&scaled});
  const std::vector<Complex> moved = rotated(x, 1);
  const double error = largest_error(w.decrypt(y), each(x, [&](std::size_t i) { return 0.5 * moved[i]; }));
  CHECK(error < 5e-7);
}
