#include <doctest/doctest.h>

#include <fheres/ring/automorphism.hpp>

#include "ring/ring_support.hpp"

using namespace fheres;
using namespace fheres::test;
using Wide = unsigned __int128;

namespace {

struct Shape {
  int log_n, q_limbs, special, digit_limbs;
};
const std::vector<Shape> kShapes{{4, 3, 1, 1}, {2, 5, 2, 2}, {3, 4, 2, 3}, {2, 6, 3, 4}, {4, 1, 1, 1}};

std::vector<scheme::Modulus> primes_of(const ring::Basis& basis, int first, int count) {
  return {basis.primes().begin() + first, basis.primes().begin() + first + count};
}

struct KeySwitchWorld {
  std::shared_ptr<const ring::Basis> basis;
  std::shared_ptr<const ring::Backend> backend;
  std::mt19937_64 random;
  int k, a;
  explicit KeySwitchWorld(const Shape& shape, unsigned seed)
      : basis(small_basis(shape.log_n, shape.q_limbs, shape.special, shape.digit_limbs)),
        backend(ring::make_cpu_backend(basis, nullptr)),
        random(seed),
        k(basis->special_limbs()),
        a(basis->digit_limbs()) {}
  std::size_t n() const { return basis->n(); }
};

}  // namespace

TEST_CASE(
    "a polynomial's digits, extended, are the digit plus a small multiple of its modulus, around zero") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 21);
    for (int l = 1; l <= shape.q_limbs; ++l) {
      CAPTURE(shape.q_limbs);
      CAPTURE(l);
      const int d = w.basis->digits(l);
      const std::uint32_t g = ring::rotation_exponent(1, w.basis->log_n());
      Poly x = random_poly(*w.basis, w.k, l, 1, w.random);
      Poly turned(*w.basis, w.k, l, 1);
      w.backend->automorphism(x.view, {g}, turned.view, {});
      w.backend->inverse(turned.view, turned.view, {});

      // The digits stand on the diagonal of the tile, as a whole key switch has them.
      Poly tile(*w.basis, 0, w.k + l, d);
      const std::size_t stride = static_cast<std::size_t>(d) * w.n();
      const ring::Digits digits{tile.view.at(w.k, 0), l, stride, w.n()};
      w.backend->decompose({x.view, {g}, {}}, digits, {});
      Words separate(static_cast<std::size_t>(l) * w.n());
      const ring::Digits plain{separate.data(), l, w.n(), 0};
      w.backend->decompose({x.view, {g}, {}}, plain, {});
      for (int i = 0; i < l; ++i) {
        CHECK(std::equal(plain.at(i, w.a), plain.at(i, w.a) + w.n(), digits.at(i, w.a)));
      }
      w.backend->mod_up(digits, tile.view, {});

      for (int j = 0; j < d; ++j) {
        const int first = j * w.a;
        const int active = std::min(w.a, l - first);
        const auto primes = primes_of(*w.basis, w.k + first, active);
        const Big modulus = product_of(primes);
        for (int t = 0; t < w.k + l; ++t) {
          if (t - w.k >= first && t - w.k < first + active) {
            // Not touched: what decompose left.
            CHECK(std::equal(plain.at(t - w.k, w.a), plain.at(t - w.k, w.a) + w.n(), tile.view.at(t, j)));
            continue;
          }
          Poly coefficients(*w.basis, t, 1, 1);
          w.backend->inverse(tile.view.limb_range(t, 1).polynomial_range(j, 1), coefficients.view, {});
          for (std::size_t c = 0; c < w.n(); ++c) {
            Words residues;
            Big sum, halves;
            for (int i = 0; i < active; ++i) {
              residues.push_back(turned.at(first + i, 0, c));
              const std::uint64_t q = primes[static_cast<std::size_t>(i)].value;
              sum = sum + modulus / q * plain.at(first + i, w.a)[c];
              halves = halves + modulus / q * ((q - 1) / 2);
            }
            // The digit, as an integer in about (-m/2, m/2) times its modulus, is sum - halves.
            CHECK(sum % modulus == (compose(primes, residues) + halves) % modulus);
            const scheme::Modulus& prime = w.basis->prime(t);
            CHECK(coefficients.at(0, 0, c) ==
                  scheme::sub_mod(sum % prime.value, halves % prime.value, prime));
          }
        }
      }
    }
  }
}

TEST_CASE("extending by groups of output limbs gives the same as the whole") {
  KeySwitchWorld w({5, 5, 2, 2}, 22);
  const int l = 5;
  const int d = w.basis->digits(l);
  Poly x = random_poly(*w.basis, w.k, l, 1, w.random);
  Words storage(static_cast<std::size_t>(l) * w.n());
  const ring::Digits digits{storage.data(), l, w.n(), 0};
  w.backend->decompose({x.view, {}, {}}, digits, {});
  Poly whole(*w.basis, 0, w.k + l, d);
  w.backend->mod_up(digits, whole.view, {});
  for (int first = 0; first < w.k + l; first += 3) {
    const int count = std::min(3, w.k + l - first);
    Poly group(*w.basis, first, count, d);
    w.backend->mod_up(digits, group.view, {});
    for (int t = 0; t < count; ++t) {
      for (int j = 0; j < d; ++j) {
        CHECK(std::equal(group.view.at(t, j), group.view.at(t, j) + w.n(), whole.view.at(first + t, j)));
      }
    }
  }
}

TEST_CASE("the key product is the exact sum over digits, its own digit read from the source") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 23);
    const int key_digits = w.basis->digits(shape.q_limbs);
    Poly key = random_poly(*w.basis, 0, w.k + shape.q_limbs, 2 * key_digits, w.random);
    for (int l = 1; l <= shape.q_limbs; ++l) {
      for (const bool product : {false, true}) {
        const int d = w.basis->digits(l);
        Poly x = random_poly(*w.basis, w.k, l, 1, w.random);
        Poly factor = random_poly(*w.basis, w.k, l, 1, w.random);
        const std::uint32_t g = product ? 1 : ring::rotation_exponent(2, w.basis->log_n());
        Poly own(*w.basis, w.k, l, 1);
        if (product) {
          w.backend->multiply(x.view, factor.view, own.view, {});
        } else {
          w.backend->automorphism(x.view, {g}, own.view, {});
        }
        Poly tile = random_poly(*w.basis, 0, w.k + l, d, w.random);
        Poly out(*w.basis, 0, w.k + l, 2);
        const ring::Source source{x.view, {g}, product ? ring::ConstView(factor.view) : ring::ConstView{}};
        w.backend->key_product(tile.view, source, key.words.data(), key_digits, out.view, {});
        for (int t = 0; t < w.k + l; ++t) {
          for (int c = 0; c < 2; ++c) {
            for (std::size_t i = 0; i < w.n(); ++i) {
              Wide sum = 0;
              for (int j = 0; j < d; ++j) {
                const bool mine = t >= w.k && (t - w.k) / w.a == j;
                sum +=
                    Wide{mine ? own.at(t - w.k, 0, i) : tile.at(t, j, i)} * key.at(t, c * key_digits + j, i);
              }
              CHECK(out.at(t, c, i) == static_cast<std::uint64_t>(sum % w.basis->prime(t).value));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("dividing by P rounds to nearest") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 24);
    const std::uint32_t g = ring::rotation_exponent(1, w.basis->log_n());
    for (int l = 1; l <= shape.q_limbs; ++l) {
      for (int addends = 0; addends <= 2; ++addends) {
        Poly x = random_poly(*w.basis, 0, w.k + l, 2, w.random);
        Poly coefficients(*w.basis, 0, w.k + l, 2);
        w.backend->inverse(x.view, coefficients.view, {});
        Poly addend = random_poly(*w.basis, w.k, l, std::max(addends, 1), w.random);
        Poly turned(*w.basis, w.k, l, std::max(addends, 1));
        w.backend->automorphism(addend.view, {g}, turned.view, {});
        w.backend->inverse(turned.view, turned.view, {});

        const ring::View special = x.view.limb_range(0, w.k);
        const ring::View values = x.view.limb_range(w.k, l);
        w.backend->begin_mod_down(special, {});
        // One limb at a time: groups are independent.
        for (int t = 0; t < l; ++t) {
          Poly tile(*w.basis, w.k + t, 1, 2);
          const ring::ConstView added =
              addends == 0 ? ring::ConstView{} : ring::ConstView(addend.view.limb_range(t, 1));
          w.backend->mod_down(special, values.limb_range(t, 1), added, {g}, tile.view, {});
        }
        w.backend->inverse(values, values, {});

        const auto primes = primes_of(*w.basis, 0, w.k + l);
        const Big p = product_of(primes_of(*w.basis, 0, w.k));
        for (int c = 0; c < 2; ++c) {
          for (std::size_t i = 0; i < w.n(); ++i) {
            Words residues;
            for (int t = 0; t < w.k + l; ++t) residues.push_back(coefficients.at(t, c, i));
            const Big rounded = (compose(primes, residues) + p / 2) / p;
            for (int t = 0; t < l; ++t) {
              const std::uint64_t q = w.basis->prime(w.k + t).value;
              const std::uint64_t added = c < addends ? turned.at(t, c, i) : 0;
              CHECK(values.at(t, c)[i] == (rounded % q + added) % q);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("rescaling divides by the last prime and rounds to nearest, exactly") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 25);
    for (int l = 2; l <= shape.q_limbs; ++l) {
      for (std::uint64_t multiplier : {std::uint64_t{1}, std::uint64_t{0x123456789abcdefU}}) {
        Poly x = random_poly(*w.basis, w.k, l, 3, w.random);
        Poly coefficients(*w.basis, w.k, l, 3);
        w.backend->inverse(x.view, coefficients.view, {});
        Poly out(*w.basis, w.k, l - 1, 3);
        Poly last(*w.basis, w.k + l - 1, 1, 3);
        w.backend->rescale(x.view, multiplier, out.view, last.view, {});
        w.backend->inverse(out.view, out.view, {});
        const auto primes = primes_of(*w.basis, w.k, l);
        const Big q = product_of(primes);
        const std::uint64_t divisor = primes.back().value;
        for (int c = 0; c < 3; ++c) {
          for (std::size_t i = 0; i < w.n(); ++i) {
            Words residues;
            for (int t = 0; t < l; ++t) residues.push_back(coefficients.at(t, c, i));
            const Big scaled = compose(primes, residues) * multiplier % q;
            const Big rounded = (scaled + Big(divisor / 2)) / divisor;
            for (int t = 0; t < l - 1; ++t) {
              CHECK(out.at(t, c, i) == rounded % primes[static_cast<std::size_t>(t)].value);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("switching all limbs at once gives the same as by groups") {
  KeySwitchWorld w({3, 5, 2, 2}, 26);
  const int l = 4;
  const int d = w.basis->digits(l);
  const int key_digits = w.basis->digits(5);
  Poly x = random_poly(*w.basis, w.k, l, 1, w.random);
  Poly key = random_poly(*w.basis, 0, w.k + 5, 2 * key_digits, w.random);
  const ring::Source source{x.view, {ring::rotation_exponent(1, w.basis->log_n())}, {}};
  Poly tile(*w.basis, 0, w.k + l, d);
  const ring::Digits digits{tile.view.at(w.k, 0), l, tile.view.limb_stride, w.n()};
  w.backend->decompose(source, digits, {});
  Poly special(*w.basis, 0, w.k, 2);
  Poly out(*w.basis, w.k, l, 2);
  w.backend->switch_whole(digits, source, key.words.data(), key_digits, tile.view, special.view, out.view, {},
                          {});

  Words storage(static_cast<std::size_t>(l) * w.n());
  const ring::Digits apart{storage.data(), l, w.n(), 0};
  w.backend->decompose(source, apart, {});
  for (int t = 0; t < w.k + l; ++t) {
    Poly group(*w.basis, t, 1, d);
    Poly product(*w.basis, t, 1, 2);
    w.backend->switch_group(apart, source, key.words.data(), key_digits, group.view, product.view, {});
    for (int c = 0; c < 2; ++c) {
      const std::uint64_t* whole = t < w.k ? special.view.at(t, c) : out.view.at(t - w.k, c);
      CHECK(std::equal(product.view.at(0, c), product.view.at(0, c) + w.n(), whole));
    }
  }
  CHECK_THROWS_AS(w.backend->switch_whole(digits, source, key.words.data(), key_digits,
                                          tile.view.limb_range(0, w.k), special.view, out.view, {}, {}),
                  std::logic_error);

  // The last limb's products may have a place of their own.
  Poly elsewhere(*w.basis, w.k + l - 1, 1, 2), rest(*w.basis, w.k, l - 1, 2);
  w.backend->decompose(source, digits, {});
  w.backend->switch_whole(digits, source, key.words.data(), key_digits, tile.view, special.view, rest.view,
                          elsewhere.view, {});
  for (int t = 0; t < l; ++t) {
    for (int c = 0; c < 2; ++c) {
      const std::uint64_t* apart_from = t < l - 1 ? rest.view.at(t, c) : elsewhere.view.at(0, c);
      CHECK(std::equal(apart_from, apart_from + w.n(), out.view.at(t, c)));
    }
  }
}

TEST_CASE("one extension serves every rotation: the residues that each rotated source would give") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 27);
    const int l = shape.q_limbs;
    const int d = w.basis->digits(l);
    Poly x = random_poly(*w.basis, w.k, l, 1, w.random);
    Poly key = random_poly(*w.basis, 0, w.k + l, 2 * d, w.random);
    Words storage(static_cast<std::size_t>(l) * w.n());
    const ring::Digits digits{storage.data(), l, w.n(), 0};
    w.backend->decompose({x.view, {}, {}}, digits, {});
    Poly shared(*w.basis, 0, w.k + l, d);
    w.backend->mod_up(digits, shared.view, {});
    for (std::uint32_t exponent :
         {1U, ring::rotation_exponent(1, shape.log_n), ring::rotation_exponent(-1, shape.log_n),
          ring::conjugation_exponent(shape.log_n)}) {
      CAPTURE(exponent);
      const ring::Source source{x.view, {exponent}, {}};
      w.backend->decompose(source, digits, {});
      Poly own(*w.basis, 0, w.k + l, d);
      w.backend->mod_up(digits, own.view, {});
      Poly expected(*w.basis, 0, w.k + l, 2);
      w.backend->key_product(own.view, source, key.words.data(), d, expected.view, {});
      Poly out(*w.basis, 0, w.k + l, 2);
      w.backend->hoisted_product(shared.view, source, key.words.data(), d, out.view, {});
      CHECK(out.words == expected.words);
      // With a polynomial over P and Q, over Q, over the last limb, and another rotation in between.
      for (const int first : {0, w.k, w.k + l - 1}) {
        CAPTURE(first);
        Poly addend = random_poly(*w.basis, first, w.k + l - first, 1, w.random);
        Poly turned(*w.basis, first, w.k + l - first, 1);
        w.backend->automorphism(addend.view, {exponent}, turned.view, {});
        Poly sum = expected;
        sum.view.data = sum.words.data();
        const ring::View c0 = sum.view.limb_range(first, w.k + l - first).polynomial_range(0, 1);
        w.backend->add(c0, turned.view, c0, {});
        Poly again(*w.basis, 0, w.k + l, 2), other(*w.basis, 0, w.k + l, 2);
        const ring::Rotation rotations[] = {{{exponent}, key.words.data(), d, out.view},
                                            {{3}, key.words.data(), d, other.view},
                                            {{exponent}, key.words.data(), d, again.view}};
        w.backend->hoisted_products(shared.view, x.view, addend.view, rotations, {});
        CHECK(out.words == sum.words);
        CHECK(again.words == sum.words);
        CHECK(other.words != sum.words);
      }
    }
    Poly factor = random_poly(*w.basis, w.k, l, 1, w.random);
    Poly out(*w.basis, 0, w.k + l, 2);
    CHECK_THROWS_AS(
        w.backend->hoisted_product(shared.view, {x.view, {}, factor.view}, key.words.data(), d, out.view, {}),
        std::logic_error);
    const ring::Rotation one[] = {{{3}, key.words.data(), d, out.view}};
    const ring::View addend = key.view.polynomial_range(0, 1);
    CHECK_THROWS_AS(w.backend->hoisted_products(shared.view, x.view, addend.limb_range(0, w.k), one, {}),
                    std::logic_error);
    CHECK_THROWS_AS(w.backend->hoisted_products(shared.view, x.view, addend, {}, {}), std::logic_error);
  }
}

TEST_CASE("rescaling in two halves, limb by limb and in place, gives the same as at once") {
  for (const Shape& shape : kShapes) {
    KeySwitchWorld w(shape, 28);
    for (int l = 2; l <= shape.q_limbs; ++l) {
      Poly x = random_poly(*w.basis, w.k, l, 2, w.random);
      Poly expected(*w.basis, w.k, l - 1, 2);
      Poly scratch(*w.basis, w.k + l - 1, 1, 2);
      w.backend->rescale(x.view, 1, expected.view, scratch.view, {});
      const ring::View last = x.view.limb_range(l - 1, 1);
      w.backend->begin_rescale(last, {});
      for (int t = 0; t < l - 1; ++t) {
        Poly tile(*w.basis, w.k + t, 1, 2);
        w.backend->finish_rescale(last, x.view.limb_range(t, 1), tile.view, {});
      }
      CHECK(std::equal(expected.words.begin(), expected.words.end(), x.words.begin()));
    }
  }
}
