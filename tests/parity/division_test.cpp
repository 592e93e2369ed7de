#include <fheres/ring/automorphism.hpp>

#include "parity/rig.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("parity: division by the special primes, whole and in groups, with and without an addend") {
  for_every_shape([](Rig& rig) {
    const std::uint32_t exponent = ring::rotation_exponent(3, rig.basis->log_n());
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) {
      CAPTURE(limbs);
      TwinPoly special(rig, 0, rig.k(), 2, limbs % 2);
      special.randomized();
      rig.cpu->begin_mod_down(special.host, {});
      rig.cuda->begin_mod_down(special.device, rig.stream);
      CHECK(special.same());

      const int addends = limbs % 3;  // polynomials of the addend
      TwinPoly values(rig, rig.k(), limbs, 2, 1), addend(rig, rig.k(), limbs, 2),
          tile(rig, rig.k(), limbs, 2);
      values.randomized();
      addend.randomized();
      const ring::ConstView none;
      const ring::View host_addend = addend.host.polynomial_range(0, std::max(addends, 1));
      const ring::View device_addend = addend.device.polynomial_range(0, std::max(addends, 1));
      const ring::Automorphism turn{limbs % 2 == 0 ? exponent : 1};
      const int group = (limbs + 1) / 2;
      for (int first = 0; first < limbs; first += group) {
        const int count = std::min(group, limbs - first);
        rig.cpu->mod_down(special.host, values.host.limb_range(first, count),
                          addends == 0 ? none : ring::ConstView(host_addend.limb_range(first, count)), turn,
                          tile.host.limb_range(first, count), {});
        rig.cuda->mod_down(special.device, values.device.limb_range(first, count),
                           addends == 0 ? none : ring::ConstView(device_addend.limb_range(first, count)),
                           turn, tile.device.limb_range(first, count), rig.stream);
      }
      CHECK(values.same());
      CHECK(addend.same());
      CHECK(special.same());
    }
  });
}

TEST_CASE("parity: division by the special primes with a product added") {
  for_every_shape([](Rig& rig) {
    TwinPoly special(rig, 0, rig.k(), 2);
    special.randomized();
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) {
      CAPTURE(limbs);
      TwinPoly values(rig, rig.k(), limbs, 2, 1), a(rig, rig.k(), limbs, 2), b(rig, rig.k(), limbs, 2, 2),
          tile(rig, rig.k(), limbs, 2);
      values.randomized();
      a.randomized();
      b.randomized();
      rig.cpu->mod_down_tensor(special.host, values.host, a.host, b.host, tile.host, {});
      rig.cuda->mod_down_tensor(special.device, values.device, a.device, b.device, tile.device, rig.stream);
      CHECK(values.same());
      values.randomized();
      rig.cpu->mod_down_tensor(special.host, values.host, a.host, a.host, tile.host, {});
      rig.cuda->mod_down_tensor(special.device, values.device, a.device, a.device, tile.device, rig.stream);
      CHECK(values.same());
    }
  });
}

TEST_CASE(
    "parity: a product divided and rescaled in one, its last limb beside the special ones or elsewhere") {
  for_every_shape([](Rig& rig) {
    const int k = rig.k();
    for (int limbs = 2; limbs <= rig.q_limbs(); ++limbs) {
      for (bool beside : {true, false}) {
        for (bool square : {true, false}) {
          CAPTURE(limbs);
          CAPTURE(beside);
          TwinPoly special(rig, 0, k + 1, 2), apart(rig, k + limbs - 1, 1, 2);
          const auto last_of = [&](ring::View all, ring::View elsewhere) {
            ring::View last = beside ? all.limb_range(k, 1) : elsewhere;
            last.first_prime = k + limbs - 1;
            return last;
          };
          const ring::View host_last = last_of(special.host, apart.host);
          randomize(*rig.basis, special.host.limb_range(0, k), rig.random);
          randomize(*rig.basis, host_last, rig.random);
          special.upload();
          apart.upload();
          TwinPoly values(rig, k, limbs - 1, 2, 1), a(rig, k, limbs, 2), b(rig, k, limbs, 2, 2),
              tile(rig, k, limbs - 1, 2);
          values.randomized();
          a.randomized();
          b.randomized();
          rig.cpu->divide_product(special.host.limb_range(0, k), values.host, host_last, a.host,
                                  square ? a.host : b.host, tile.host, {});
          rig.cuda->divide_product(special.device.limb_range(0, k), values.device,
                                   last_of(special.device, apart.device), a.device,
                                   square ? a.device : b.device, tile.device, rig.stream);
          CHECK(values.same());
          CHECK(a.same());
          CHECK(b.same());
        }
      }
    }
  });
}

TEST_CASE("parity: rescaling at every level, plain and with a multiplier") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 2; limbs <= rig.q_limbs(); ++limbs) {
      for (std::uint64_t multiplier : {std::uint64_t{1}, rig.random() | 2, std::uint64_t{0}}) {
        CAPTURE(limbs);
        CAPTURE(multiplier);
        TwinPoly in(rig, rig.k(), limbs, 2, 1), out(rig, rig.k(), limbs - 1, 2);
        TwinPoly last(rig, rig.k() + limbs - 1, 1, 2);
        in.randomized();
        rig.cpu->rescale(in.host, multiplier, out.host, last.host, {});
        rig.cuda->rescale(in.device, multiplier, out.device, last.device, rig.stream);
        CHECK(out.same());
        CHECK(in.same());
      }
    }
  });
}

TEST_CASE("parity: rescaling in two halves, by groups of limbs") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 2; limbs <= rig.q_limbs(); ++limbs) {
      CAPTURE(limbs);
      TwinPoly values(rig, rig.k(), limbs - 1, 2, 1), tile(rig, rig.k(), limbs - 1, 2);
      TwinPoly last(rig, rig.k() + limbs - 1, 1, 2);
      values.randomized();
      last.randomized();
      rig.cpu->begin_rescale(last.host, {});
      rig.cuda->begin_rescale(last.device, rig.stream);
      CHECK(last.same());
      const int group = limbs / 2;
      for (int first = 0; first < limbs - 1; first += group) {
        const int count = std::min(group, limbs - 1 - first);
        rig.cpu->finish_rescale(last.host, values.host.limb_range(first, count),
                                tile.host.limb_range(first, count), {});
        rig.cuda->finish_rescale(last.device, values.device.limb_range(first, count),
                                 tile.device.limb_range(first, count), rig.stream);
      }
      CHECK(values.same());
      CHECK(last.same());
    }
  });
}
