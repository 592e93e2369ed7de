#include <doctest/doctest.h>

#include <fheres/ckks/calculator.hpp>
#include <fheres/ckks/diagonals.hpp>
#include <fheres/memory/emulated.hpp>

#include "ckks/ckks_support.hpp"

using namespace fheres;
using namespace fheres::test;
using ckks::StoredCiphertext;
using scheme::Operation;
using scheme::Scalar;

namespace {

// A calculator on an emulated device, or on the host, with the client's values of a World stored there.
struct Device {
  explicit Device(const World& w, memory::Location at, std::optional<Bytes> capacity = {}, int group = 0)
      : driver(memory::make_emulated_driver()),
        region(memory::Region::make(driver, at, capacity)),
        stream(at.is_host() ? memory::Stream() : driver->make_stream(at, "calculator")),
        calculator(
            ckks::Evaluator(ckks::Context(w.parameters, ring::make_cpu_backend(w.parameters, driver)), group),
            ckks::ValueStore::make(region, stream)) {}

  std::shared_ptr<memory::Driver> driver;
  std::shared_ptr<memory::Region> region;
  memory::Stream stream;
  ckks::Calculator calculator;
};

}  // namespace

TEST_CASE(
    "every convenience form gives the bytes of the form that allocates nothing, on the host and on a "
    "stream") {
  const World w(small_parameters(2));
  const std::vector<Complex> x = random_message(w.parameters.slots(), 120);
  const std::vector<Complex> y = random_message(w.parameters.slots(), 121);
  const ckks::Ciphertext host_a = w.encrypt(x), host_b = w.encrypt(y);
  const ckks::Plaintext host_p = w.encode(y);
  const ckks::SwitchingKey host_relin = w.keys.relinearization_key(w.secret, 0, "relin");
  const ckks::SwitchingKey host_rotation = w.keys.rotation_key(w.secret, 1, 0, "rot");
  const ckks::SwitchingKey host_conjugation = w.keys.conjugation_key(w.secret, 0, "conj");
  for (const memory::Location at : {memory::Location::pageable_host(), memory::Location::cuda(0)}) {
    Device device(w, at);
    ckks::Calculator& c = device.calculator;
    const StoredCiphertext a = c.store_value(host_a), b = c.store_value(host_b);
    const ckks::StoredPlaintext p = c.store_value(host_p);
    const ckks::StoredKey relin = c.store_value(host_relin);
    const ckks::StoredKey rotation = c.store_value(host_rotation);
    const ckks::StoredKey conjugation = c.store_value(host_conjugation);
    const Scalar half{0.5, {}};
    const auto same = [&](const StoredCiphertext& got, const ckks::Ciphertext& expected) {
      CHECK(got.type() == expected.type());
      CHECK(same_bytes(c.fetch(got).bytes(), expected.bytes()));
    };
    same(c.add(a, b), w.apply(Operation::add, {&host_a, &host_b}));
    same(c.sub(a, b), w.apply(Operation::sub, {&host_a, &host_b}));
    same(c.negate(a), w.apply(Operation::negate, {&host_a}));
    same(c.add(a, p), w.apply(Operation::add_plain, {&host_a}, &host_p));
    same(c.sub(a, p), w.apply(Operation::sub_plain, {&host_a}, &host_p));
    same(c.sub(p, a), w.apply(Operation::plain_sub, {&host_a}, &host_p));
    same(c.add(a, half), w.apply(Operation::add_scalar, {&host_a}, nullptr, nullptr, &half));
    same(c.sub(a, half), w.apply(Operation::sub_scalar, {&host_a}, nullptr, nullptr, &half));
    same(c.sub(half, a), w.apply(Operation::scalar_sub, {&host_a}, nullptr, nullptr, &half));
    same(c.multiply(a, half), w.apply(Operation::multiply_scalar, {&host_a}, nullptr, nullptr, &half));
    same(c.multiply(a, p), w.apply(Operation::multiply_plain, {&host_a}, &host_p));
    same(c.multiply(a, b, relin), w.apply(Operation::multiply, {&host_a, &host_b}, nullptr, &host_relin));
    same(c.square(a, relin), w.apply(Operation::square, {&host_a}, nullptr, &host_relin));
    same(c.multiply_rescale(a, b, relin),
         w.apply(Operation::multiply_rescale, {&host_a, &host_b}, nullptr, &host_relin));
    same(c.square_rescale(a, relin), w.apply(Operation::square_rescale, {&host_a}, nullptr, &host_relin));
    same(c.mod_switch(a), w.apply(Operation::mod_switch, {&host_a}));
    same(c.rotate(a, rotation), w.apply(Operation::rotate, {&host_a}, nullptr, &host_rotation));
    same(c.conjugate(a, conjugation), w.apply(Operation::conjugate, {&host_a}, nullptr, &host_conjugation));
    const ckks::Ciphertext three = w.apply(Operation::multiply, {&host_a, &host_b});
    // Values in between are let go while the stream still works with them.
    same(c.rescale(c.relinearize(c.multiply(a, b), relin)),
         w.apply(Operation::multiply_rescale, {&host_a, &host_b}, nullptr, &host_relin));
    same(c.relinearize(c.multiply(a, b), relin),
         w.apply(Operation::relinearize, {&three}, nullptr, &host_relin));
    same(c.multiply(a, a), w.apply(Operation::square, {&host_a}));
    same(c.square(a), w.apply(Operation::multiply, {&host_a, &host_a}));

    const std::vector<ckks::KeyView> both{rotation, conjugation};
    std::vector<StoredCiphertext> many = c.rotate_many(a, both);
    same(many[0], w.apply(Operation::rotate, {&host_a}, nullptr, &host_rotation));
    same(many[1], w.apply(Operation::conjugate, {&host_a}, nullptr, &host_conjugation));
    const ckks::Ciphertext turned = w.apply(Operation::rotate, {&host_a}, nullptr, &host_rotation);
    same(c.sum_slots(a, 2, std::span(both).first(1)), w.apply(Operation::add, {&host_a, &turned}));
  }
}

TEST_CASE("polynomials, transforms and expansions come as values too") {
  const World w(small_parameters(2));
  const std::vector<Complex> x = random_message(w.parameters.slots(), 122);
  Device device(w, memory::Location::cuda(0), {}, 2);
  ckks::Calculator& c = device.calculator;
  const StoredCiphertext a = c.store_value(w.encrypt(x));
  const ckks::StoredKey relin = c.store_value(w.keys.relinearization_key(w.secret, 0, "relin"));
  const ckks::StoredKey rotation = c.store_value(w.keys.rotation_key(w.secret, 1, 0, "rot"));
  const std::vector<double> coefficients{0.5, -1, 0.25, 0.125};
  const StoredCiphertext y =
      c.polynomial(a, coefficients, scheme::PolynomialBasis::power, std::vector<ckks::KeyView>{relin});
  CHECK(largest_error(w.decrypt(c.fetch(y)), each(x, [&](std::size_t i) {
                        return 0.5 - x[i] + 0.25 * x[i] * x[i] + 0.125 * x[i] * x[i] * x[i];
                      })) < 1e-6);

  const std::map<std::int64_t, std::vector<Complex>> diagonals{
      {0, random_message(w.parameters.slots(), 123)}, {1, random_message(w.parameters.slots(), 124)}};
  const scheme::LinearTransform transform(w.parameters, std::vector<std::int64_t>{0, 1});
  std::vector<ckks::StoredPlaintext> plaintexts;
  std::vector<ckks::PlaintextView> views;
  for (const ckks::Plaintext& compact :
       ckks::encode_diagonals(w.encoder, w.parameters, transform, diagonals, 0,
                              w.parameters.canonical_scale(0), scheme::PlaintextForm::compact)) {
    plaintexts.push_back(c.expand(c.store_value(compact), 0, scheme::PlaintextForm::prepared_qp));
    views.push_back(plaintexts.back());
  }
  const StoredCiphertext z =
      c.rescale(c.linear_transform(transform, a, views, std::vector<ckks::KeyView>{rotation}));
  const std::vector<Complex> moved = rotated(x, 1);
  CHECK(largest_error(w.decrypt(c.fetch(z)), each(x, [&](std::size_t i) {
                        return diagonals.at(0)[i] * x[i] + diagonals.at(1)[i] * moved[i];
                      })) < 1e-6);
}

TEST_CASE("a full region refuses before anything is queued, and takes back what is let go") {
  const World w(small_parameters());
  const Bytes one = scheme::bytes_of(w.parameters, scheme::ciphertext_type(w.parameters));
  Device device(w, memory::Location::cuda(0), 3 * one);
  ckks::Calculator& c = device.calculator;
  const std::vector<Complex> x = random_message(w.parameters.slots(), 125);
  const StoredCiphertext a = c.store_value(w.encrypt(x));
  {
    const StoredCiphertext b = c.add(a, a);
    const StoredCiphertext d = c.add(a, b);
    CHECK_THROWS_AS(c.add(a, d), memory::AllocationError);
    CHECK(largest_error(w.decrypt(c.fetch(d)), each(x, [&](std::size_t i) { return 3.0 * x[i]; })) < 1e-6);
  }
  // The two blocks come back, in the stream's order, over and over.
  StoredCiphertext sum = c.add(a, a);
  for (int i = 0; i < 20; ++i) sum = c.add(sum, a);
  CHECK(largest_error(w.decrypt(c.fetch(sum)), each(x, [&](std::size_t i) { return 22.0 * x[i]; })) < 1e-5);
  c.synchronize();
  CHECK(device.region->allocated() == 2 * one);
}

TEST_CASE("a store is of one device and its stream") {
  const auto driver = memory::make_emulated_driver();
  const auto host = memory::Region::make(driver, memory::Location::pageable_host(), {});
  const auto device = memory::Region::make(driver, memory::Location::cuda(0), {});
  const memory::Stream stream = driver->make_stream(memory::Location::cuda(0), "s");
  CHECK_THROWS_AS(ckks::ValueStore::make(host, stream), std::invalid_argument);
  CHECK_THROWS_AS(ckks::ValueStore::make(device, {}), std::invalid_argument);
  CHECK_THROWS_AS(ckks::ValueStore::make(nullptr, {}), std::invalid_argument);
}
