#include "ckks/hoisting.hpp"

#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/ring/automorphism.hpp>
#include <fheres/scheme/sizes.hpp>

#include "ckks/carver.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

/// One rotation: its source, its key, where its special limbs stand and where it goes.
class Turn {
 public:
  Turn(const Context& context, ring::ConstView a, const KeyView& key, const CiphertextRef& out,
       ring::View special)
      : backend_(context.backend()),
        automorphism_(automorphism_of(context, key.type())),
        source_{a.polynomial_range(1, 1), automorphism_, {}},
        addend_(a.polynomial_range(0, 1)),
        key_(key.data()),
        key_digits_(context.basis().digits(context.parameters().limbs(key.type().level))),
        special_(special),
        out_(ring_view(context, out)) {}

  /// The products of the tile's limbs, which are special ones or ones of Q.
  void product(ring::ConstView tile, const memory::Stream& stream) const {
    const int k = special_.limbs;
    const ring::View to = tile.first_prime < k ? special_.limb_range(tile.first_prime, tile.limbs)
                                               : out_.limb_range(tile.first_prime - k, tile.limbs);
    backend_.hoisted_product(tile, source_, key_, key_digits_, to, stream);
  }
  /// The products of all limbs.
  void products(ring::ConstView tile, const memory::Stream& stream) const {
    backend_.hoisted_whole(tile, source_, key_, key_digits_, special_, out_, stream);
  }
  void begin_mod_down(const memory::Stream& stream) const { backend_.begin_mod_down(special_, stream); }
  /// Q limbs first .. first + tile.limbs - 1.
  void mod_down(int first, ring::View tile, const memory::Stream& stream) const {
    backend_.mod_down(special_, out_.limb_range(first, tile.limbs), addend_.limb_range(first, tile.limbs),
                      automorphism_, tile, stream);
  }

 private:
  const ring::Backend& backend_;
  ring::Automorphism automorphism_;
  ring::Source source_;
  ring::ConstView addend_;
  const std::uint64_t* key_;
  int key_digits_;
  ring::View special_, out_;
};

}  // namespace

ring::Automorphism automorphism_of(const Context& context, const scheme::ValueType& key) {
  const int log_n = context.parameters().log_n();
  return {key.kind == scheme::Kind::conjugation_key ? ring::conjugation_exponent(log_n)
                                                    : ring::rotation_exponent(key.steps, log_n)};
}

void rotate_hoisted(const Context& context, ring::ConstView a, std::span<const KeyView> keys,
                    std::span<const CiphertextRef> outs, std::uint64_t* workspace, int group,
                    const memory::Stream& stream) {
  const ring::Backend& backend = context.backend();
  const ring::Basis& basis = context.basis();
  const std::size_t n = basis.n();
  const int k = basis.special_limbs();
  const int l = a.limbs;
  const int d = basis.digits(l);
  const bool whole = group == 0 || group >= std::max(k, l);
  const int g = whole ? std::max(k, l) : group;

  Carver carver(workspace, n);
  ring::Digits digits{};
  if (!whole) digits = {carver.take(l), l, n, 0};
  std::uint64_t* const area = carver.take(whole ? std::max(d * (k + l), 2 * l) : std::max(d, 2) * g);
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    turns.emplace_back(context, a, keys[i], outs[i], carver.take(0, k, 2));
  }
  FHERES_CHECK(carver.used() == scheme::hoisted_workspace(context.parameters(), basis.q_limbs() - l,
                                                          static_cast<int>(keys.size()), group));
  const ring::View all = ring::dense_view(area, 0, k + l, d, n);
  if (whole) digits = {all.at(k, 0), l, all.limb_stride, all.polynomial_stride};

  const ring::Source plain{a.polynomial_range(1, 1), {}, {}};
  backend.decompose(plain, digits, stream);
  if (whole) {
    backend.mod_up(digits, all, stream);
    for (const Turn& turn : turns) turn.products(all, stream);
    for (const Turn& turn : turns) {
      turn.begin_mod_down(stream);
      turn.mod_down(0, ring::dense_view(area, k, l, 2, n), stream);
    }
    return;
  }
  const auto products = [&](int first_prime, int count) {
    const ring::View tile = ring::dense_view(area, first_prime, count, d, n);
    backend.mod_up(digits, tile, stream);
    for (const Turn& turn : turns) turn.product(tile, stream);
  };
  for (int first = 0; first < k; first += g) products(first, std::min(g, k - first));
  for (const Turn& turn : turns) turn.begin_mod_down(stream);
  for (int first = 0; first < l; first += g) {
    const int count = std::min(g, l - first);
    products(k + first, count);
    for (const Turn& turn : turns) {
      turn.mod_down(first, ring::dense_view(area, k + first, count, 2, n), stream);
    }
  }
}

}  // namespace fheres::ckks
