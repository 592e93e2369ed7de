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

// `count` products; those whose number is a multiple of 3 of Q alone where `special` is asked for.
void check_sum(Rig& rig, int first_prime, int limbs, int count, bool special) {
  CAPTURE(first_prime);
  CAPTURE(limbs);
  CAPTURE(count);
  std::vector<std::unique_ptr<TwinPoly>> a, b;
  std::vector<ring::Term> at_host, at_device;
  for (int i = 0; i < count; ++i) {
    const int first = special && i % 3 == 0 ? rig.k() : first_prime;
    const int covered = first_prime + limbs - first;
    a.push_back(std::make_unique<TwinPoly>(rig, first, covered, 2, i % 2));
    b.push_back(std::make_unique<TwinPoly>(rig, first, covered, 1, i % 2));
    for (TwinPoly* poly : {a.back().get(), b.back().get()}) {
      poly->randomized();
      if (i % 4 != 1) continue;
      for (int t = 0; t < covered; ++t) {  // the largest
        for (int j = 0; j < poly->host.polynomials; ++j)
          std::fill_n(poly->host.at(t, j), rig.n(), rig.basis->prime(first + t).value - 1);
      }
      poly->upload();
    }
    at_host.push_back({a.back()->host, b.back()->host});
    at_device.push_back({a.back()->device, b.back()->device});
  }
  const int apart = special ? rig.k() : 0;
  TwinPoly low(rig, 0, rig.k(), 2), high(rig, first_prime + apart, limbs - apart, 2, 1);
  rig.cpu->sum_products(at_host, special ? low.host : View{}, high.host, {});
  rig.cuda->sum_products(at_device, special ? low.device : View{}, high.device, rig.stream);
  CHECK(low.same());
  CHECK(high.same());
  CHECK(a.back()->same());
  CHECK(b.back()->same());
}

// b covers limbs from b_first on.
void check_turned(Rig& rig, int b_first, int b_polynomials, bool accumulate, bool special) {
  CAPTURE(b_first);
  CAPTURE(b_polynomials);
  CAPTURE(accumulate);
  const int limbs = rig.k() + rig.q_limbs(), apart = special ? rig.k() : 0;
  TwinPoly a(rig, 0, limbs, 2, 1), b(rig, b_first, limbs - b_first, b_polynomials);
  TwinPoly low(rig, 0, rig.k(), 2), high(rig, apart, limbs - apart, 2, 1);
  a.randomized();
  b.randomized();
  if (accumulate) {
    low.randomized();
    high.randomized();
  }
  const auto exponent = static_cast<std::uint32_t>((rig.random() % rig.n()) * 2 + 1);
  CAPTURE(exponent);
  rig.cpu->add_turned(a.host, b.host, {exponent}, accumulate, special ? low.host : View{}, high.host, {});
  rig.cuda->add_turned(a.device, b.device, {exponent}, accumulate, special ? low.device : View{}, high.device,
                       rig.stream);
  CHECK(low.same());
  CHECK(high.same());
  if (accumulate || b_first != 0) return;  // without a part for P, both cover all of it
  rig.cpu->add_turned(a.host, b.host, {exponent}, false, {}, a.host, {});
  rig.cuda->add_turned(a.device, b.device, {exponent}, false, {}, a.device, rig.stream);
  CHECK(a.same());
  CHECK(b.same());
}

}  // namespace

TEST_CASE("parity: sums of products, of one launch and of several, over P and Q apart and over some limbs") {
  for_every_shape([](Rig& rig) {
    const int all = rig.k() + rig.q_limbs();
    for (const int count : {1, 2, 7}) check_sum(rig, 0, all, count, true);
    check_sum(rig, 0, all, 4, false);
    check_sum(rig, rig.k(), 1, 3, false);
    check_sum(rig, all - 1, 1, 2, false);
    // A launch takes 32.
    const bool small = rig.shape.log_n <= 12;
    if (!small) return;
    for (const int count : {31, 32, 33, 64, 65, 97}) check_sum(rig, 0, rig.k() + 1, count, true);
    check_sum(rig, rig.k(), rig.q_limbs(), 40, false);
  });
}

TEST_CASE("parity: sums with turned polynomials, of all primes or the last, over P and Q apart or together") {
  for_every_shape([](Rig& rig) {
    for (const bool accumulate : {false, true}) {
      for (const int polynomials : {1, 2}) {
        check_turned(rig, 0, polynomials, accumulate, true);
        check_turned(rig, rig.k(), polynomials, accumulate, true);
        check_turned(rig, 0, polynomials, accumulate, false);
      }
    }
  });
}

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
