#include <array>
#include <limits>

#include <doctest/doctest.h>

#include "ring/ring_support.hpp"

using namespace fheres;
using namespace fheres::test;
using Wide = unsigned __int128;

namespace {

struct PointwiseWorld {
  std::shared_ptr<const ring::Basis> basis = small_basis(5, 3, 2, 2);
  std::shared_ptr<const ring::Backend> backend = ring::make_cpu_backend(basis, nullptr);
  std::mt19937_64 random{11};
  int limbs = 5;

  // What the formula gives for a prime, word by word, against what the operation gave.
  template <class Formula>
  void check(const Poly& got, int polynomials, Formula formula, int first_prime = 0) {
    for (int limb = 0; limb < limbs; ++limb) {
      const int prime = first_prime + limb;
      const std::uint64_t q = basis->prime(prime).value;
      for (int j = 0; j < polynomials; ++j) {
        for (std::size_t i = 0; i < basis->n(); ++i) {
          CHECK(got.view.at(limb, j)[i] == static_cast<std::uint64_t>(formula(prime, j, i, q) % q));
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("sums, differences and negatives are canonical; polynomials that b lacks are a's") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 3, w.random);
  Poly b = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly out(*w.basis, 0, 5, 3);
  w.backend->add(a.view, b.view, out.view, {});
  w.check(out, 3, [&](int t, int j, std::size_t i, std::uint64_t) {
    return static_cast<Wide>(a.at(t, j, i)) + (j < 2 ? b.at(t, j, i) : 0);
  });
  w.backend->subtract(a.view, b.view, out.view, {});
  w.check(out, 3, [&](int t, int j, std::size_t i, std::uint64_t q) {
    return static_cast<Wide>(a.at(t, j, i)) + q - (j < 2 ? b.at(t, j, i) : 0);
  });
  w.backend->negate(a.view, out.view, {});
  w.check(out, 3, [&](int t, int j, std::size_t i, std::uint64_t q) { return Wide{q} - a.at(t, j, i); });
  const Poly before = a;
  w.backend->copy(a.view, out.view, {});
  CHECK(out.words == before.words);
  w.backend->add(out.view, b.view, out.view, {});
  w.backend->subtract(out.view, b.view, out.view, {});
  CHECK(out.words == before.words);
}

TEST_CASE("products: pointwise, broadcast, accumulated, by a scalar") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly b = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly one = random_poly(*w.basis, 0, 5, 1, w.random);
  Poly out(*w.basis, 0, 5, 2);
  w.backend->multiply(a.view, b.view, out.view, {});
  w.check(out, 2,
          [&](int t, int j, std::size_t i, std::uint64_t) { return Wide{a.at(t, j, i)} * b.at(t, j, i); });
  w.backend->multiply(a.view, one.view, out.view, {});
  w.check(out, 2,
          [&](int t, int j, std::size_t i, std::uint64_t) { return Wide{a.at(t, j, i)} * one.at(t, 0, i); });
  w.backend->multiply_add(a.view, b.view, out.view, {});
  w.check(out, 2, [&](int t, int j, std::size_t i, std::uint64_t) {
    return Wide{a.at(t, j, i)} * b.at(t, j, i) + Wide{a.at(t, j, i)} * one.at(t, 0, i);
  });
}

TEST_CASE("integers of any sign and size, as factors and as constant polynomials") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly out(*w.basis, 0, 5, 2);
  const ring::SignedWide largest = static_cast<ring::SignedWide>(~Wide{0} >> 1);
  for (ring::SignedWide scalar : {ring::SignedWide{0}, ring::SignedWide{1}, ring::SignedWide{-1},
                                  static_cast<ring::SignedWide>(w.random()), largest, -largest}) {
    // The residue by division, apart from the code under test.
    const auto residue = [scalar](std::uint64_t q) {
      const auto rest = static_cast<ring::SignedWide>(scalar % static_cast<ring::SignedWide>(q));
      return static_cast<Wide>(rest < 0 ? rest + static_cast<ring::SignedWide>(q) : rest);
    };
    w.backend->multiply_scalar(a.view, scalar, out.view, {});
    w.check(out, 2, [&](int t, int j, std::size_t i, std::uint64_t q) { return a.at(t, j, i) * residue(q); });
    w.backend->add_scalar(a.view, scalar, out.view, {});
    w.check(out, 2, [&](int t, int j, std::size_t i, std::uint64_t q) {
      return a.at(t, j, i) + (j == 0 ? residue(q) : 0);
    });
  }
}

TEST_CASE("the tensor of two ciphertexts, and its sum into a third") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly b = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly out(*w.basis, 0, 5, 3);
  w.backend->tensor(a.view, b.view, out.view, {});
  const auto term = [&](int t, int j, std::size_t i) -> Wide {
    if (j == 0) return Wide{a.at(t, 0, i)} * b.at(t, 0, i);
    if (j == 2) return Wide{a.at(t, 1, i)} * b.at(t, 1, i);
    return Wide{a.at(t, 0, i)} * b.at(t, 1, i) + Wide{a.at(t, 1, i)} * b.at(t, 0, i);
  };
  w.check(out, 3, [&](int t, int j, std::size_t i, std::uint64_t) { return term(t, j, i); });
  Poly sum = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly before = sum;
  before.view.data = before.words.data();
  w.backend->tensor_add(a.view, b.view, sum.view, {});
  w.check(sum, 2,
          [&](int t, int j, std::size_t i, std::uint64_t) { return term(t, j, i) + before.at(t, j, i); });
}

TEST_CASE(
    "sums of few and of many products are exact, over P and Q whose places are apart, or over one range") {
  PointwiseWorld w;
  // More than 64 products of primes of 60 bits need more than 128 bits if nothing is reduced on the way.
  for (const int count : {1, 2, 31, 32, 33, 65, 300}) {
    CAPTURE(count);
    std::vector<Poly> a, b;
    std::vector<ring::Term> terms;
    for (int i = 0; i < count; ++i) {
      const int first = i % 3 == 2 ? 2 : 0;  // of P and Q, or Q alone
      a.push_back(random_poly(*w.basis, first, 5 - first, 2, w.random));
      b.push_back(random_poly(*w.basis, first, 5 - first, 1, w.random));
      if (i % 5 == 3) continue;
      for (Poly* poly : {&a.back(), &b.back()}) {  // the largest
        for (int t = first; t < 5; ++t) {
          for (int j = 0; j < poly->view.polynomials; ++j)
            std::fill_n(poly->view.at(t - first, j), w.basis->n(), w.basis->prime(t).value - 1);
        }
      }
    }
    for (std::size_t i = 0; i < a.size(); ++i) terms.push_back({a[i].view, b[i].view});
    const auto expected = [&](int t, int j, std::size_t i, std::uint64_t q) {
      Big sum;
      for (std::size_t term = 0; term < a.size(); ++term) {
        const int limb = t - a[term].view.first_prime;
        if (limb >= 0) sum = sum + Big(a[term].at(limb, j, i)) * b[term].at(limb, 0, i);
      }
      return Wide{sum % q};
    };
    Poly special(*w.basis, 0, 2, 2), out(*w.basis, 2, 3, 2);
    w.backend->sum_products(terms, special.view, out.view, {});
    w.limbs = 2;
    w.check(special, 2, expected);
    w.limbs = 3;
    w.check(out, 2, expected, 2);
    // All in one place, and some limbs only, which the first terms stand for too.
    Poly whole(*w.basis, 0, 5, 2), part(*w.basis, 3, 2, 2);
    w.backend->sum_products(terms, whole.view.limb_range(0, 2), whole.view.limb_range(2, 3), {});
    w.limbs = 5;
    w.check(whole, 2, expected);
    for (ring::Term& term : terms) {
      const int from = 3 - term.a.first_prime;
      term = {term.a.limb_range(from, 2), term.b.limb_range(from, 2)};
    }
    w.backend->sum_products(terms, {}, part.view, {});
    w.limbs = 2;
    w.check(part, 2, expected, 3);
  }
}

TEST_CASE("a sum with a turned polynomial is a sum with its automorphism, also on top of what is there") {
  PointwiseWorld w;
  for (const bool accumulate : {false, true}) {
    for (const int first : {0, 2}) {  // of b
      for (const int polynomials : {1, 2}) {
        CAPTURE(accumulate);
        CAPTURE(first);
        CAPTURE(polynomials);
        Poly a = random_poly(*w.basis, 0, 5, 2, w.random);
        Poly b = random_poly(*w.basis, first, 5 - first, polynomials, w.random);
        Poly turned(*w.basis, first, 5 - first, polynomials);
        w.backend->automorphism(b.view, {27}, turned.view, {});
        Poly special = random_poly(*w.basis, 0, 2, 2, w.random);
        Poly out = random_poly(*w.basis, 2, 3, 2, w.random);
        const Words low = special.words, high = out.words;
        const auto expected = [&](int t, int j, std::size_t i, std::uint64_t) {
          Wide sum = a.at(t, j, i);
          if (t >= first && j < polynomials) sum += turned.at(t - first, j, i);
          const Words& held = t < 2 ? low : high;
          const auto row = static_cast<std::size_t>(2 * (t < 2 ? t : t - 2) + j);
          return accumulate ? sum + held[row * w.basis->n() + i] : sum;
        };
        w.backend->add_turned(a.view, b.view, {27}, accumulate, special.view, out.view, {});
        w.limbs = 2;
        w.check(special, 2, expected);
        w.limbs = 3;
        w.check(out, 2, expected, 2);
        if (accumulate || first != 0) continue;
        // In place.
        Poly same = a;
        same.view.data = same.words.data();
        w.backend->add_turned(same.view, b.view, {27}, false, {}, same.view, {});
        w.limbs = 5;
        w.check(same, 2, expected);
      }
    }
  }
}

TEST_CASE(
    "sums over P and Q refuse what covers neither all primes nor the last ones, and outputs that are "
    "inputs") {
  PointwiseWorld w;
  Poly a(*w.basis, 0, 5, 2), b(*w.basis, 0, 5, 1), special(*w.basis, 0, 2, 2), out(*w.basis, 2, 3, 2);
  const auto sum = [&](ring::Term term, ring::View low, ring::View high) {
    w.backend->sum_products(std::array{term}, low, high, {});
  };
  const ring::View last = a.view.limb_range(4, 1), one = b.view.limb_range(4, 1);
  CHECK_THROWS_AS(w.backend->sum_products({}, special.view, out.view, {}), std::logic_error);
  CHECK_THROWS_AS(sum({last, one}, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(sum({a.view.limb_range(0, 3), b.view.limb_range(0, 3)}, special.view, out.view),
                  std::logic_error);
  CHECK_THROWS_AS(sum({a.view, one}, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(sum({a.view, a.view}, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(sum({a.view, b.view}, special.view.limb_range(0, 1), out.view), std::logic_error);
  CHECK_THROWS_AS(sum({a.view, b.view}, {}, a.view), std::logic_error);
  CHECK_THROWS_AS(sum({a.view, b.view}, a.view.limb_range(0, 2), out.view), std::logic_error);
  const auto add = [&](ring::ConstView x, ring::ConstView y, bool accumulate, ring::View low,
                       ring::View high) { w.backend->add_turned(x, y, {5}, accumulate, low, high, {}); };
  CHECK_THROWS_AS(add(a.view.limb_range(2, 3), b.view, false, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(add(a.view, last, false, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(add(b.view, a.view, false, {}, b.view), std::logic_error);
  CHECK_THROWS_AS(add(a.view, b.view, true, {}, a.view), std::logic_error);
  CHECK_THROWS_AS(add(a.view, a.view, false, special.view, out.view), std::logic_error);
  CHECK_THROWS_AS(w.backend->add_turned(a.view, b.view, {4}, false, special.view, out.view, {}),
                  std::logic_error);
}

TEST_CASE("signed words are lifted to every limb") {
  PointwiseWorld w;
  std::vector<std::int64_t> x(w.basis->n());
  for (std::int64_t& value : x) value = static_cast<std::int64_t>(w.random());
  x[0] = 0;
  x[1] = -1;
  x[2] = std::numeric_limits<std::int64_t>::min();
  x[3] = std::numeric_limits<std::int64_t>::max();
  x[4] = -static_cast<std::int64_t>(w.basis->prime(0).value);
  const auto check = [&] {
    Poly out(*w.basis, 0, 5, 1);
    w.backend->lift(x.data(), out.view, {});
    w.check(out, 1, [&](int, int, std::size_t i, std::uint64_t q) {
      const __int128 rest = static_cast<__int128>(x[i]) % static_cast<__int128>(q);
      return static_cast<Wide>(rest < 0 ? rest + static_cast<__int128>(q) : rest);
    });
  };
  check();
  // Smaller than some primes and not than others, up to the last word that needs no reduction and the next ones.
  for (int prime = 0; prime < 5; ++prime) {
    const auto q = static_cast<std::int64_t>(w.basis->prime(prime).value);
    for (const std::int64_t end : {q - 2, q - 1, q, q + 1}) {
      for (std::int64_t& value : x) value = static_cast<std::int64_t>(w.random()) % (end + 1);
      x[0] = end;
      x[1] = -end;
      x[2] = 0;
      check();
    }
  }
}

TEST_CASE("views with gaps leave the gaps alone") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 3, w.random);
  Poly out = random_poly(*w.basis, 0, 5, 3, w.random);
  const Poly before = out;
  w.backend->negate(a.view.polynomial_range(1, 1).limb_range(1, 3),
                    out.view.polynomial_range(2, 1).limb_range(1, 3), {});
  for (int limb = 0; limb < 5; ++limb) {
    for (int j = 0; j < 3; ++j) {
      for (std::size_t i = 0; i < w.basis->n(); ++i) {
        const std::size_t place = static_cast<std::size_t>(limb * 3 + j) * w.basis->n() + i;
        if (limb >= 1 && limb <= 3 && j == 2) {
          const std::uint64_t q = w.basis->prime(limb).value;
          CHECK(out.words[place] == (q - a.at(limb, 1, i)) % q);
        } else {
          CHECK(out.words[place] == before.words[place]);
        }
      }
    }
  }
}

TEST_CASE("shapes that break a contract are refused before anything happens") {
  PointwiseWorld w;
  Poly a = random_poly(*w.basis, 0, 5, 2, w.random);
  Poly small = random_poly(*w.basis, 0, 4, 2, w.random);
  Poly shifted = random_poly(*w.basis, 1, 4, 2, w.random);
  CHECK_THROWS_AS(w.backend->add(a.view, small.view, a.view, {}), std::logic_error);
  CHECK_THROWS_AS(w.backend->add(small.view, shifted.view, small.view, {}), std::logic_error);
  CHECK_THROWS_AS(w.backend->automorphism(a.view, {5}, a.view, {}), std::logic_error);
  CHECK_THROWS_AS(w.backend->automorphism(a.view, {4}, small.view, {}), std::logic_error);
  CHECK_THROWS_AS(w.backend->multiply(a.view.polynomial_range(0, 1), a.view, a.view, {}), std::logic_error);
  Poly last(*w.basis, 4, 1, 2);
  CHECK_THROWS_AS(w.backend->rescale(a.view, 1, small.view, last.view, {}), std::logic_error);
}
