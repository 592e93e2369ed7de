#include "parity/rig.hpp"

using namespace fheres;
using namespace fheres::test;
using ring::Backend;
using ring::ConstView;
using ring::View;

namespace {

using Binary = void (Backend::*)(ConstView, ConstView, View, const memory::Stream&) const;

// a has a_polynomials, b has b_polynomials; the output starts as poison, or as residues where it is an input too.
void check_binary(Rig& rig, Binary operation, int first_prime, int limbs, int a_polynomials,
                  int b_polynomials, int out_polynomials, bool accumulates) {
  CAPTURE(first_prime);
  CAPTURE(limbs);
  CAPTURE(b_polynomials);
  TwinPoly a(rig, first_prime, limbs, a_polynomials, 1), b(rig, first_prime, limbs, b_polynomials);
  TwinPoly out(rig, first_prime, limbs, out_polynomials, 2);
  a.randomized();
  b.randomized();
  if (accumulates) out.randomized();
  ((*rig.cpu).*operation)(a.host, b.host, out.host, {});
  ((*rig.cuda).*operation)(a.device, b.device, out.device, rig.stream);
  CHECK(out.same());
  CHECK(a.same());
  CHECK(b.same());
}

}  // namespace

TEST_CASE("parity: sums, differences and products, for every number of limbs and fewer polynomials in b") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) {
      for (int polynomials : {1, 2}) {
        check_binary(rig, &Backend::add, rig.k(), limbs, 2, polynomials, 2, false);
        check_binary(rig, &Backend::subtract, rig.k(), limbs, 2, polynomials, 2, false);
        check_binary(rig, &Backend::multiply, rig.k(), limbs, 2, polynomials, 2, false);
        check_binary(rig, &Backend::multiply_add, rig.k(), limbs, 2, polynomials, 2, true);
      }
    }
    check_binary(rig, &Backend::add, 0, rig.k() + 1, 3, 2, 3, false);
    check_binary(rig, &Backend::multiply, 0, rig.k() + 1, 3, 3, 3, false);
  });
}

TEST_CASE("parity: pointwise operations in place") {
  for_every_shape([](Rig& rig) {
    TwinPoly a(rig, rig.k(), rig.q_limbs(), 2), b(rig, rig.k(), rig.q_limbs(), 2);
    a.randomized();
    b.randomized();
    rig.cpu->add(a.host, b.host, a.host, {});
    rig.cuda->add(a.device, b.device, a.device, rig.stream);
    rig.cpu->subtract(b.host, a.host, a.host, {});
    rig.cuda->subtract(b.device, a.device, a.device, rig.stream);
    rig.cpu->multiply(a.host, a.host, a.host, {});
    rig.cuda->multiply(a.device, a.device, a.device, rig.stream);
    rig.cpu->negate(a.host, a.host, {});
    rig.cuda->negate(a.device, a.device, rig.stream);
    CHECK(a.same());
    CHECK(b.same());
  });
}

TEST_CASE("parity: negation, scalars and copies") {
  for_every_shape([](Rig& rig) {
    TwinPoly a(rig, 0, rig.k() + rig.q_limbs(), 2, 1);
    a.randomized();
    TwinPoly negated(rig, 0, rig.k() + rig.q_limbs(), 2), copied(rig, 0, rig.k() + rig.q_limbs(), 2);
    rig.cpu->negate(a.host, negated.host, {});
    rig.cuda->negate(a.device, negated.device, rig.stream);
    CHECK(negated.same());
    rig.cpu->copy(a.host, copied.host, {});
    rig.cuda->copy(a.device, copied.device, rig.stream);
    CHECK(copied.same());
    const auto largest = static_cast<ring::SignedWide>(~ring::Wide{0} >> 1);
    for (ring::SignedWide scalar :
         {ring::SignedWide{0}, ring::SignedWide{1}, ring::SignedWide{-1}, largest, -largest,
          static_cast<ring::SignedWide>(rig.random()) << 20, -static_cast<ring::SignedWide>(rig.random())}) {
      CAPTURE(static_cast<double>(scalar));
      TwinPoly scaled(rig, 0, rig.k() + rig.q_limbs(), 2), raised(rig, 0, rig.k() + rig.q_limbs(), 2);
      rig.cpu->multiply_scalar(a.host, scalar, scaled.host, {});
      rig.cuda->multiply_scalar(a.device, scalar, scaled.device, rig.stream);
      CHECK(scaled.same());
      rig.cpu->add_scalar(a.host, scalar, raised.host, {});
      rig.cuda->add_scalar(a.device, scalar, raised.device, rig.stream);
      CHECK(raised.same());
    }
  });
}

TEST_CASE("parity: tensor products") {
  for_every_shape([](Rig& rig) {
    for (int limbs = 1; limbs <= rig.q_limbs(); ++limbs) {
      check_binary(rig, &Backend::tensor, rig.k(), limbs, 2, 2, 3, false);
      check_binary(rig, &Backend::tensor_add, rig.k(), limbs, 2, 2, 2, true);
    }
    TwinPoly a(rig, rig.k(), 1, 2), out(rig, rig.k(), 1, 3);
    a.randomized();
    rig.cpu->tensor(a.host, a.host, out.host, {});
    rig.cuda->tensor(a.device, a.device, out.device, rig.stream);
    CHECK(out.same());
  });
}

TEST_CASE("parity: seeds expand to the same residues, whole and in parts") {
  for_every_shape([](Rig& rig) {
    Twin seed(rig, ring::kSeedBytes / sizeof(std::uint64_t) + 1);
    for (std::size_t i = 0; i < 5; ++i) seed.host()[i] = rig.random();
    seed.upload();
    // Also where a seed is not aligned.
    for (const std::size_t offset : {std::size_t{0}, std::size_t{3}}) {
      const auto* at_host = reinterpret_cast<const std::byte*>(seed.host()) + offset;
      const auto* at_device = reinterpret_cast<const std::byte*>(seed.device()) + offset;
      TwinPoly whole(rig, 0, rig.k() + rig.q_limbs(), 3, 1), part(rig, rig.k(), 1, 1, 2);
      rig.cpu->expand(at_host, 0, whole.host, {});
      rig.cuda->expand(at_device, 0, whole.device, rig.stream);
      CHECK(whole.same());
      rig.cpu->expand(at_host, 2, part.host, {});
      rig.cuda->expand(at_device, 2, part.device, rig.stream);
      CHECK(part.same());
      CHECK(std::equal(part.host.at(0, 0), part.host.at(0, 0) + rig.n(), whole.host.at(rig.k(), 2)));
    }
    CHECK(seed.same());
  });
}

TEST_CASE("parity: signed words become residues, the extremes too") {
  for_every_shape([](Rig& rig) {
    Twin words(rig, rig.n());
    for (std::size_t i = 0; i < rig.n(); ++i) {
      const std::uint64_t draw = rig.random();
      words.host()[i] = i % 5 == 0 ? draw >> (draw % 64) : draw;
    }
    words.host()[0] = std::uint64_t{1} << 63;
    words.host()[1] = ~std::uint64_t{0};
    words.host()[2] = ~std::uint64_t{0} >> 1;
    words.host()[3] = 0;
    words.host()[4] = 0 - rig.basis->prime(0).value;
    words.upload();
    TwinPoly out(rig, 0, rig.k() + rig.q_limbs(), 1, 1);
    rig.cpu->lift(reinterpret_cast<const std::int64_t*>(words.host()), out.host, {});
    rig.cuda->lift(reinterpret_cast<const std::int64_t*>(words.device()), out.device, rig.stream);
    CHECK(out.same());
  });
}
