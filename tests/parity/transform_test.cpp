#include <fheres/ring/automorphism.hpp>

#include "parity/rig.hpp"

using namespace fheres;
using namespace fheres::test;

TEST_CASE("parity: the forward transform, for every number of limbs") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 1; limbs <= rig.k() + rig.q_limbs(); ++limbs) {
      CAPTURE(limbs);
      TwinPoly values(rig, 0, limbs, 1 + limbs % 3, 1);
      values.randomized();
      rig.cpu->forward(values.host, {});
      rig.cuda->forward(values.device, rig.stream);
      CHECK(values.same());
    }
  });
}

TEST_CASE("parity: the inverse transform, to another place and in place") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) {
      CAPTURE(limbs);
      TwinPoly values(rig, rig.k(), limbs, 2, 1), out(rig, rig.k(), limbs, 2);
      values.randomized();
      rig.cpu->inverse(values.host, out.host, {});
      rig.cuda->inverse(values.device, out.device, rig.stream);
      CHECK(out.same());
      CHECK(values.same());
      rig.cpu->inverse(values.host, values.host, {});
      rig.cuda->inverse(values.device, values.device, rig.stream);
      CHECK(values.same());
    }
  });
}

TEST_CASE("parity: automorphisms, rotations both ways and conjugation") {
  for_every_shape([](Rig& rig) {
    const int log_n = rig.basis->log_n();
    TwinPoly values(rig, rig.k(), rig.q_limbs(), 2, 1);
    values.randomized();
    const auto half = static_cast<std::int64_t>(rig.n() / 2);
    for (std::uint32_t exponent :
         {ring::rotation_exponent(1, log_n), ring::rotation_exponent(-1, log_n),
          ring::rotation_exponent(static_cast<std::int64_t>(rig.random()) % half, log_n),
          ring::conjugation_exponent(log_n), std::uint32_t{1}}) {
      CAPTURE(exponent);
      TwinPoly out(rig, rig.k(), rig.q_limbs(), 2);
      rig.cpu->automorphism(values.host, {exponent}, out.host, {});
      rig.cuda->automorphism(values.device, {exponent}, out.device, rig.stream);
      CHECK(out.same());
    }
  });
}
