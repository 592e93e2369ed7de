#include <fheres/ring/automorphism.hpp>

#include "parity/rig.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

// One polynomial to switch, at l limbs: read through an automorphism, as a product not yet formed, or plainly.
struct Case {
  Case(Rig& its_rig, int its_limbs, int kind)
      : rig(its_rig),
        limbs(its_limbs),
        digits(its_rig.basis->digits(its_limbs)),
        values(its_rig, its_rig.k(), its_limbs, 1, 1),
        factor(its_rig, its_rig.k(), its_limbs, 1) {
    values.randomized();
    factor.randomized();
    host.values = values.host;
    device.values = values.device;
    if (kind == 1) {
      host.automorphism.exponent =
          ring::rotation_exponent(static_cast<std::int64_t>(rig.random() % 1000), rig.basis->log_n());
      device.automorphism = host.automorphism;
    } else if (kind == 2) {
      host.factor = factor.host;
      device.factor = factor.device;
    }
  }
  Rig& rig;
  int limbs, digits;
  TwinPoly values, factor;
  ring::Source host, device;
};

// Digits where they belong in an extended tile over P and all Q limbs of the case.
ring::Digits on_diagonal(const Rig& rig, const ring::View& tile, int limbs) {
  return {tile.at(rig.k(), 0), limbs, tile.limb_stride, tile.polynomial_stride};
}

void check_pipeline(Rig& rig, int limbs, int kind) {
  CAPTURE(limbs);
  CAPTURE(kind);
  Case c(rig, limbs, kind);
  const int key_digits = rig.basis->digits(rig.q_limbs());
  TwinPoly key(rig, 0, rig.k() + rig.q_limbs(), 2 * key_digits);
  key.randomized();

  TwinPoly tile(rig, 0, rig.k() + limbs, c.digits);
  rig.cpu->decompose(c.host, on_diagonal(rig, tile.host, limbs), {});
  rig.cuda->decompose(c.device, on_diagonal(rig, tile.device, limbs), rig.stream);
  CHECK(tile.same());
  rig.cpu->mod_up(on_diagonal(rig, tile.host, limbs), tile.host, {});
  rig.cuda->mod_up(on_diagonal(rig, tile.device, limbs), tile.device, rig.stream);
  CHECK(tile.same());

  TwinPoly out(rig, 0, rig.k() + limbs, 2, 1);
  rig.cpu->key_product(tile.host, c.host, key.host.data, key_digits, out.host, {});
  rig.cuda->key_product(tile.device, c.device, key.device.data, key_digits, out.device, rig.stream);
  CHECK(out.same());
  CHECK(tile.same());
  CHECK(c.values.same());

  // The same in one step, for all primes together: the special limbs' products have a place of their own.
  TwinPoly special(rig, 0, rig.k(), 2), rest(rig, rig.k(), limbs, 2, 2);
  rig.cpu->copy(out.host.limb_range(0, rig.k()), special.host, {});
  rig.cpu->copy(out.host.limb_range(rig.k(), limbs), rest.host, {});
  rig.cuda->switch_whole(on_diagonal(rig, tile.device, limbs), c.device, key.device.data, key_digits,
                         tile.device, special.device, rest.device, {}, rig.stream);
  CHECK(special.same());
  CHECK(rest.same());
}

}  // namespace

TEST_CASE("parity: decompose, extend and multiply by a key, at every number of limbs") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) check_pipeline(rig, limbs, limbs % 3);
  });
}

TEST_CASE("parity: every kind of source") {
  for_every_shape([](Rig& rig) {
    for (int kind : {0, 1, 2}) check_pipeline(rig, rig.q_limbs(), kind);
  });
}

TEST_CASE("parity: every kind of source, where the blocks of a cluster share the digits") {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  Rig rig({15, 60, 40, 16, 45, 2, 4}, seed);
  for (int kind : {0, 1, 2}) check_pipeline(rig, rig.q_limbs(), kind);
}

TEST_CASE("parity: groups of output limbs, with the digits standing elsewhere") {
  for_every_shape([](Rig& rig) {
    const int limbs = rig.q_limbs();
    Case c(rig, limbs, 1);
    TwinPoly digits(rig, rig.k(), limbs, 1);
    const ring::Digits host_digits{digits.host.data, limbs, rig.n(), 0};
    const ring::Digits device_digits{digits.device.data, limbs, rig.n(), 0};
    rig.cpu->decompose(c.host, host_digits, {});
    rig.cuda->decompose(c.device, device_digits, rig.stream);
    CHECK(digits.same());
    const int key_digits = c.digits + 1;
    TwinPoly key(rig, 0, rig.k() + limbs, 2 * key_digits);
    key.randomized();
    for (int first = 0; first < rig.k() + limbs; first += 2) {
      const int count = std::min(2, rig.k() + limbs - first);
      CAPTURE(first);
      TwinPoly tile(rig, first, count, c.digits), out(rig, first, count, 2);
      rig.cpu->mod_up(host_digits, tile.host, {});
      rig.cuda->mod_up(device_digits, tile.device, rig.stream);
      CHECK(tile.same());
      rig.cpu->switch_group(host_digits, c.host, key.host.data, key_digits, tile.host, out.host, {});
      rig.cuda->switch_group(device_digits, c.device, key.device.data, key_digits, tile.device, out.device,
                             rig.stream);
      CHECK(out.same());
    }
  });
}

TEST_CASE("parity: many rotations of one extension") {
  for_every_shape([](Rig& rig) {
    const int limbs = rig.q_limbs();
    Case c(rig, limbs, 0);
    const int key_digits = c.digits + 1;
    TwinPoly key(rig, 0, rig.k() + limbs, 2 * key_digits);
    key.randomized();
    TwinPoly tile(rig, 0, rig.k() + limbs, c.digits, 1);
    tile.randomized();
    for (std::uint32_t exponent :
         {1U, ring::rotation_exponent(1, rig.basis->log_n()),
          ring::rotation_exponent(-77, rig.basis->log_n()), ring::conjugation_exponent(rig.basis->log_n())}) {
      CAPTURE(exponent);
      c.host.automorphism.exponent = c.device.automorphism.exponent = exponent;
      TwinPoly out(rig, 0, rig.k() + limbs, 2);
      rig.cpu->hoisted_product(tile.host, c.host, key.host.data, key_digits, out.host, {});
      rig.cuda->hoisted_product(tile.device, c.device, key.device.data, key_digits, out.device, rig.stream);
      CHECK(out.same());
      CHECK(tile.same());
      TwinPoly special(rig, 0, rig.k(), 2), rest(rig, rig.k(), limbs, 2, 2);
      rig.cpu->copy(out.host.limb_range(0, rig.k()), special.host, {});
      rig.cpu->copy(out.host.limb_range(rig.k(), limbs), rest.host, {});
      rig.cuda->hoisted_whole(tile.device, c.device, key.device.data, key_digits, special.device, rest.device,
                              rig.stream);
      CHECK(special.same());
      CHECK(rest.same());
    }
  });
}

TEST_CASE("parity: many rotations at once, of one launch and of several, with what is added to them") {
  for_every_shape([](Rig& rig) {
    const int limbs = rig.q_limbs(), all = rig.k() + limbs;
    Case c(rig, limbs, 0);
    TwinPoly tile(rig, 0, all, c.digits, 1);
    tile.randomized();
    TwinPoly even(rig, 0, all, 2 * c.digits), odd(rig, 0, all, 2 * (c.digits + 1));
    even.randomized();
    odd.randomized();
    // A launch takes 32.
    const std::vector<int> counts = rig.shape.log_n <= 12 ? std::vector<int>{1, 32, 33} : std::vector<int>{3};
    for (const int count : counts) {
      CAPTURE(count);
      const int first = count == 33 ? all - 1 : count == 32 ? 0 : rig.k();
      TwinPoly addend(rig, first, all - first, 1, 1);
      addend.randomized();
      std::vector<std::unique_ptr<TwinPoly>> outs;
      std::vector<ring::Rotation> at_host, at_device;
      for (int i = 0; i < count; ++i) {
        TwinPoly& key = i % 2 == 0 ? even : odd;
        const int key_digits = key.host.polynomials / 2;
        outs.push_back(std::make_unique<TwinPoly>(rig, 0, all, 2, i % 3));
        const std::uint32_t exponent = i == 0   ? ring::conjugation_exponent(rig.basis->log_n())
                                       : i == 1 ? 1
                                                : ring::rotation_exponent(i * i - 7, rig.basis->log_n());
        at_host.push_back({{exponent}, key.host.data, key_digits, outs.back()->host});
        at_device.push_back({{exponent}, key.device.data, key_digits, outs.back()->device});
      }
      rig.cpu->hoisted_products(tile.host, c.host.values, addend.host, at_host, {});
      rig.cuda->hoisted_products(tile.device, c.device.values, addend.device, at_device, rig.stream);
      for (const auto& out : outs) CHECK(out->same());
    }
    CHECK(tile.same());
  });
}
