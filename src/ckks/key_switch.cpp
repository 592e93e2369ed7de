#include "ckks/key_switch.hpp"

#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/scheme/sizes.hpp>

#include "ckks/carver.hpp"

namespace fheres::ckks {
namespace {

ring::ConstView limbs_of(ring::ConstView view, int first, int count) {
  return view.data == nullptr ? view : view.limb_range(first, count);
}

// Limbs `first` and on, as many as `values` has.
void divide(const ring::Backend& backend, ring::ConstView special, ring::View values, const Addend& addend,
            int first, ring::View tile, const memory::Stream& stream) {
  const ring::ConstView added = limbs_of(addend.values, first, values.limbs);
  if (addend.factor.data == nullptr) {
    backend.mod_down(special, values, added, addend.automorphism, tile, stream);
  } else {
    backend.mod_down_tensor(special, values, added, limbs_of(addend.factor, first, values.limbs), tile,
                            stream);
  }
}

}  // namespace

void switch_key(const Context& context, const ring::Source& source, const KeyView& key, const Addend& addend,
                ring::View out, std::uint64_t* workspace, int group, const memory::Stream& stream) {
  const ring::Backend& backend = context.backend();
  const ring::Basis& basis = context.basis();
  const std::size_t n = basis.n();
  const int k = basis.special_limbs();
  const int l = out.limbs;
  const int d = basis.digits(l);
  const int key_digits = basis.digits(context.parameters().limbs(key.type().level));
  const int level = basis.q_limbs() - l;

  Carver carver(workspace, n);
  const auto check_used = [&] {
    FHERES_CHECK(carver.used() == scheme::key_switch_workspace(context.parameters(), level, group));
  };

  if (group == 0 || group >= std::max(k, l)) {
    std::uint64_t* area = carver.take(std::max(d * (k + l), 2 * l));
    const ring::View special = carver.take(0, k, 2);
    check_used();
    const ring::View tile = ring::dense_view(area, 0, k + l, d, n);
    // The source's digits stand where the tile would hold the source itself: the product reads that elsewhere.
    const ring::Digits digits{tile.at(k, 0), l, tile.limb_stride, tile.polynomial_stride};
    backend.decompose(source, digits, stream);
    backend.switch_whole(digits, source, key.data(), key_digits, tile, special, out, {}, stream);
    backend.begin_mod_down(special, stream);
    divide(backend, special, out, addend, 0, ring::dense_view(area, k, l, 2, n), stream);
    return;
  }

  const int g = group;
  const ring::Digits digits{carver.take(l), l, n, 0};
  std::uint64_t* area = carver.take(std::max(d, 2) * g);
  const ring::View special = carver.take(0, k, 2);
  check_used();
  backend.decompose(source, digits, stream);
  for (int first = 0; first < k; first += g) {
    const int count = std::min(g, k - first);
    backend.switch_group(digits, source, key.data(), key_digits, ring::dense_view(area, first, count, d, n),
                         special.limb_range(first, count), stream);
  }
  backend.begin_mod_down(special, stream);
  for (int first = 0; first < l; first += g) {
    const int count = std::min(g, l - first);
    const ring::View results = out.limb_range(first, count);
    backend.switch_group(digits, source, key.data(), key_digits,
                         ring::dense_view(area, k + first, count, d, n), results, stream);
    divide(backend, special, results, addend, first, ring::dense_view(area, k + first, count, 2, n), stream);
  }
}

}  // namespace fheres::ckks
