#include "ckks/rescaled_product.hpp"

#include <algorithm>

#include <fheres/base/check.hpp>
#include <fheres/scheme/sizes.hpp>

#include "ckks/carver.hpp"

namespace fheres::ckks {

void multiply_and_rescale(const Context& context, ring::ConstView a, ring::ConstView b, const KeyView& key,
                          ring::View out, std::uint64_t* workspace, int group, const memory::Stream& stream) {
  const ring::Backend& backend = context.backend();
  const ring::Basis& basis = context.basis();
  const std::size_t n = basis.n();
  const int k = basis.special_limbs();
  const int l = a.limbs;
  const int d = basis.digits(l);
  const int key_digits = basis.digits(context.parameters().limbs(key.type().level));
  const int level = basis.q_limbs() - l;
  const bool whole = group == 0 || group >= std::max(k, l);
  const int g = group;

  Carver carver(workspace, n);
  ring::Digits digits{};
  if (!whole) digits = {carver.take(l), l, n, 0};
  std::uint64_t* const area = carver.take(whole ? std::max(d * (k + l), 2 * l) : std::max(d, 2) * g);
  const ring::View special = carver.take(0, k, 2);
  const ring::View last = carver.take(k + l - 1, 1, 2);
  FHERES_CHECK(carver.used() == scheme::key_switch_workspace(context.parameters(), level, group) +
                                    scheme::rescale_workspace(context.parameters(), 2));

  // Whole: the digits stand on the diagonal of a tile over all primes, so groups are ranges of that tile.
  const ring::View all = ring::dense_view(area, 0, k + l, d, n);
  if (whole) digits = {all.at(k, 0), l, all.limb_stride, all.polynomial_stride};
  const auto tile_of = [&](int first_prime, int count) {
    return whole ? all.limb_range(first_prime, count) : ring::dense_view(area, first_prime, count, d, n);
  };
  const ring::Source source{a.polynomial_range(1, 1), {}, b.polynomial_range(1, 1)};
  const auto product = [&](ring::View to) {
    backend.switch_group(digits, source, key.data(), key_digits, tile_of(to.first_prime, to.limbs), to,
                         stream);
  };
  const auto finish = [&](ring::View values, ring::View tile) {
    const int first = values.first_prime - k;
    backend.mod_down_tensor(special, values, a.limb_range(first, values.limbs),
                            b.limb_range(first, values.limbs), tile, stream);
  };

  backend.decompose(source, digits, stream);
  if (whole) {
    backend.switch_whole(digits, source, key.data(), key_digits, all, special, out, last, stream);
    backend.divide_product(special, out, last, a, b, ring::dense_view(area, k, l - 1, 2, n), stream);
    return;
  }
  for (int first = 0; first < k; first += g) product(special.limb_range(first, std::min(g, k - first)));
  backend.begin_mod_down(special, stream);
  product(last);
  finish(last, ring::dense_view(area, k + l - 1, 1, 2, n));
  backend.begin_rescale(last, stream);
  for (int first = 0; first < l - 1; first += g) {
    const ring::View values = out.limb_range(first, std::min(g, l - 1 - first));
    const ring::View tile = ring::dense_view(area, k + first, values.limbs, 2, n);
    product(values);
    finish(values, tile);
    backend.finish_rescale(last, values, tile, stream);
  }
}

}  // namespace fheres::ckks
