#include "ring/shapes.hpp"

#include <fheres/base/check.hpp>

namespace fheres::ring::shapes {
namespace {

void valid(const Basis& basis, ConstView view) {
  FHERES_CHECK(view.data != nullptr);
  FHERES_CHECK(view.limbs >= 1 && view.polynomials >= 1);
  FHERES_CHECK(view.first_prime >= 0 && view.first_prime + view.limbs <= basis.prime_count());
  FHERES_CHECK(view.limbs == 1 || view.limb_stride >= basis.n());
  FHERES_CHECK(view.polynomials == 1 || view.polynomial_stride >= basis.n());
}

void same_primes(const Basis& basis, ConstView a, ConstView b) {
  valid(basis, a);
  valid(basis, b);
  FHERES_CHECK(a.first_prime == b.first_prime);
  FHERES_CHECK(a.limbs == b.limbs);
}

void same(const Basis& basis, ConstView a, ConstView b) {
  same_primes(basis, a, b);
  FHERES_CHECK(a.polynomials == b.polynomials);
}

void valid(const Basis& basis, Automorphism automorphism) {
  FHERES_CHECK(automorphism.exponent % 2 == 1);
  FHERES_CHECK(automorphism.exponent < 2 * basis.n());
}

void valid(const Basis& basis, const Source& source) {
  valid(basis, source.values);
  valid(basis, source.automorphism);
  FHERES_CHECK(source.values.first_prime == basis.special_limbs());
  FHERES_CHECK(source.values.polynomials == 1);
  if (source.factor.data == nullptr) return;
  same(basis, source.values, source.factor);
  FHERES_CHECK(source.automorphism.exponent == 1);
}

// A range of P, Q_0 .. Q_(l-1).
void extended(const Basis& basis, ConstView view, int limbs, int polynomials) {
  valid(basis, view);
  FHERES_CHECK(basis.special_limbs() > 0);
  FHERES_CHECK(view.first_prime + view.limbs <= basis.special_limbs() + limbs);
  FHERES_CHECK(view.polynomials == polynomials);
}

// The limbs of a sum over P and Q: all of `special` and `out`, or where that has no data of `out` alone.
int sum_limbs(const Basis& basis, ConstView special, ConstView out) {
  valid(basis, out);
  if (special.data == nullptr) return out.limbs;
  valid(basis, special);
  FHERES_CHECK(special.first_prime == 0 && special.limbs == basis.special_limbs());
  FHERES_CHECK(out.first_prime == special.limbs && out.polynomials == special.polynomials);
  FHERES_CHECK(special.data != out.data);
  return special.limbs + out.limbs;
}

// An input of such a sum: the last of its limbs are those of `out`, and it has all of them or no other.
void summand(const Basis& basis, ConstView view, int limbs, ConstView special, ConstView out) {
  valid(basis, view);
  FHERES_CHECK(view.limbs == limbs || view.limbs == out.limbs);
  FHERES_CHECK(view.first_prime + view.limbs == out.first_prime + out.limbs);
  FHERES_CHECK(view.data != special.data);
}

}  // namespace

void forward(const Basis& basis, View values) { valid(basis, values); }

void inverse(const Basis& basis, ConstView in, View out) { same(basis, in, out); }

void automorphism(const Basis& basis, ConstView in, Automorphism automorphism, View out) {
  same(basis, in, out);
  valid(basis, automorphism);
  FHERES_CHECK(in.data != out.data);
}

void add(const Basis& basis, ConstView a, ConstView b, View out) {
  same_primes(basis, a, b);
  same(basis, a, out);
  FHERES_CHECK(b.polynomials <= a.polynomials);
}

void unary(const Basis& basis, ConstView a, View out) { same(basis, a, out); }

void multiply(const Basis& basis, ConstView a, ConstView b, View out) {
  same_primes(basis, a, b);
  same(basis, a, out);
  FHERES_CHECK(b.polynomials == a.polynomials || b.polynomials == 1);
}

void tensor(const Basis& basis, ConstView a, ConstView b, View out) {
  same(basis, a, b);
  same_primes(basis, a, out);
  FHERES_CHECK(a.polynomials == 2 && out.polynomials == 3);
  FHERES_CHECK(out.data != a.data && out.data != b.data);
}

void tensor_add(const Basis& basis, ConstView a, ConstView b, View out) {
  same(basis, a, b);
  same(basis, a, out);
  FHERES_CHECK(a.polynomials == 2);
  FHERES_CHECK(out.data != a.data && out.data != b.data);
}

void sum_products(const Basis& basis, std::span<const Term> terms, ConstView special, ConstView out) {
  const int limbs = sum_limbs(basis, special, out);
  FHERES_CHECK(!terms.empty() && out.polynomials == 2);
  for (const Term& term : terms) {
    same_primes(basis, term.a, term.b);
    FHERES_CHECK(term.a.polynomials == 2 && term.b.polynomials == 1);
    for (const ConstView& factor : {term.a, term.b}) {
      summand(basis, factor, limbs, special, out);
      FHERES_CHECK(factor.data != out.data);
    }
  }
}

void add_turned(const Basis& basis, ConstView a, ConstView b, Automorphism automorphism, bool accumulate,
                ConstView special, ConstView out) {
  const int limbs = sum_limbs(basis, special, out);
  valid(basis, automorphism);
  summand(basis, a, limbs, special, out);
  summand(basis, b, limbs, special, out);
  FHERES_CHECK(a.limbs == limbs && a.polynomials == out.polynomials && b.polynomials <= a.polynomials);
  FHERES_CHECK(b.data != out.data && b.data != a.data);
  FHERES_CHECK(a.data != out.data || (special.data == nullptr && !accumulate));
}

void lift(const Basis& basis, const std::int64_t* coefficients, View out) {
  valid(basis, out);
  FHERES_CHECK(coefficients != nullptr && out.polynomials == 1);
}

void expand(const Basis& basis, const std::byte* seed, int first, View out) {
  valid(basis, out);
  FHERES_CHECK(seed != nullptr && first >= 0);
}

void decompose(const Basis& basis, const Source& source, Digits out) {
  valid(basis, source);
  FHERES_CHECK(out.data != nullptr && out.data != source.values.data);
  FHERES_CHECK(out.limbs == source.values.limbs);
  FHERES_CHECK(out.limb_stride >= basis.n());
}

void mod_up(const Basis& basis, ConstDigits digits, View out) {
  FHERES_CHECK(digits.data != nullptr);
  FHERES_CHECK(digits.limbs >= 1 && digits.limbs <= basis.q_limbs());
  extended(basis, out, digits.limbs, basis.digits(digits.limbs));
}

void key_product(const Basis& basis, ConstView tile, const Source& source, const std::uint64_t* key,
                 int key_digits, View out) {
  valid(basis, source);
  same_primes(basis, tile, out);
  extended(basis, tile, source.values.limbs, basis.digits(source.values.limbs));
  FHERES_CHECK(out.polynomials == 2);
  FHERES_CHECK(key != nullptr && key_digits >= tile.polynomials);
  FHERES_CHECK(out.data != tile.data && out.data != source.values.data);
}

void hoisted_product(const Basis& basis, ConstView tile, const Source& source, const std::uint64_t* key,
                     int key_digits, View out) {
  key_product(basis, tile, source, key, key_digits, out);
  FHERES_CHECK(source.factor.data == nullptr);
}

void hoisted_products(const Basis& basis, ConstView tile, ConstView source, ConstView addend,
                      std::span<const Rotation> rotations) {
  valid(basis, addend);
  FHERES_CHECK(!rotations.empty() && addend.polynomials == 1 && addend.limbs <= tile.limbs);
  FHERES_CHECK(addend.first_prime + addend.limbs == tile.first_prime + tile.limbs);
  for (const auto& [turn, key, key_digits, out] : rotations) {
    hoisted_product(basis, tile, {source, turn, {}}, key, key_digits, out);
    FHERES_CHECK(out.data != addend.data);
  }
}

void switch_whole(const Basis& basis, ConstView tile, ConstView special, ConstView out, ConstView last) {
  valid(basis, tile);
  valid(basis, special);
  valid(basis, out);
  const int apart = last.data == nullptr ? 0 : 1;
  FHERES_CHECK(tile.first_prime == 0 && tile.limbs == basis.special_limbs() + out.limbs + apart);
  FHERES_CHECK(special.first_prime == 0 && special.limbs == basis.special_limbs());
  FHERES_CHECK(out.first_prime == basis.special_limbs());
  FHERES_CHECK(special.polynomials == 2 && out.polynomials == 2);
  FHERES_CHECK(special.data != out.data);
  if (apart == 0) return;
  valid(basis, last);
  FHERES_CHECK(last.limbs == 1 && last.first_prime == out.first_prime + out.limbs && last.polynomials == 2);
  FHERES_CHECK(last.data != out.data && last.data != special.data);
}

void begin_mod_down(const Basis& basis, View special) {
  valid(basis, special);
  FHERES_CHECK(special.first_prime == 0 && special.limbs == basis.special_limbs());
}

void mod_down(const Basis& basis, ConstView special, View values, ConstView addend, Automorphism automorphism,
              View tile) {
  valid(basis, special);
  valid(basis, automorphism);
  same(basis, values, tile);
  FHERES_CHECK(special.first_prime == 0 && special.limbs == basis.special_limbs());
  FHERES_CHECK(special.polynomials == values.polynomials);
  FHERES_CHECK(values.first_prime >= basis.special_limbs());
  FHERES_CHECK(values.data != tile.data && special.data != tile.data);
  if (addend.data == nullptr) return;
  same_primes(basis, values, addend);
  FHERES_CHECK(addend.polynomials <= values.polynomials);
  FHERES_CHECK(addend.data != values.data && addend.data != tile.data);
}

void rescale(const Basis& basis, ConstView in, View out, View last) {
  valid(basis, in);
  valid(basis, out);
  valid(basis, last);
  FHERES_CHECK(in.first_prime == basis.special_limbs() && in.limbs >= 2);
  FHERES_CHECK(out.first_prime == in.first_prime && out.limbs == in.limbs - 1);
  FHERES_CHECK(last.first_prime == in.first_prime + in.limbs - 1 && last.limbs == 1);
  FHERES_CHECK(out.polynomials == in.polynomials && last.polynomials == in.polynomials);
  FHERES_CHECK(in.data != out.data && in.data != last.data && out.data != last.data);
}

void begin_rescale(const Basis& basis, View last) {
  valid(basis, last);
  FHERES_CHECK(last.limbs == 1 && last.first_prime > basis.special_limbs());
}

void divide_product(const Basis& basis, View special, View values, View last, ConstView a, ConstView b,
                    View tile) {
  mod_down(basis, special, values, {}, {}, tile);
  begin_rescale(basis, last);
  same(basis, a, b);
  FHERES_CHECK(values.first_prime == basis.special_limbs() && a.first_prime == values.first_prime);
  FHERES_CHECK(last.first_prime == values.first_prime + values.limbs && a.limbs == values.limbs + 1);
  FHERES_CHECK(values.polynomials == 2 && last.polynomials == 2 && a.polynomials == 2);
  for (const std::uint64_t* written : {values.data, last.data, tile.data, special.data}) {
    FHERES_CHECK(written != a.data && written != b.data);
  }
  FHERES_CHECK(last.data != values.data && last.data != tile.data && last.data != special.data);
}

void finish_rescale(const Basis& basis, ConstView last, View values, View tile) {
  valid(basis, last);
  same(basis, values, tile);
  FHERES_CHECK(last.limbs == 1 && last.polynomials == values.polynomials);
  FHERES_CHECK(values.first_prime >= basis.special_limbs());
  FHERES_CHECK(values.first_prime + values.limbs <= last.first_prime);
  FHERES_CHECK(values.data != tile.data && last.data != tile.data && last.data != values.data);
}

}  // namespace fheres::ring::shapes
