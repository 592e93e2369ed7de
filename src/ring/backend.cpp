#include <fheres/ring/backend.hpp>

#include "ring/shapes.hpp"

namespace fheres::ring {

void Backend::expand_half(const std::byte* seed, ConstView stored, View copied, View uniform,
                          const memory::Stream& stream) const {
  copy(stored, copied, stream);
  expand(seed, 0, uniform, stream);
}

void Backend::hoisted_whole(ConstView extended, const Source& source, const std::uint64_t* key,
                            int key_digits, View special, View out, const memory::Stream& stream) const {
  shapes::switch_whole(*basis_, extended, special, out, {});
  const int k = special.limbs;
  hoisted_product(extended.limb_range(0, k), source, key, key_digits, special, stream);
  hoisted_product(extended.limb_range(k, out.limbs), source, key, key_digits, out, stream);
}

void Backend::switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                           View tile, View out, const memory::Stream& stream) const {
  mod_up(digits, tile, stream);
  key_product(tile, source, key, key_digits, out, stream);
}

void Backend::switch_whole(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                           View tile, View special, View out, View last, const memory::Stream& stream) const {
  shapes::switch_whole(*basis_, tile, special, out, last);
  const int k = basis_->special_limbs();
  switch_group(digits, source, key, key_digits, tile.limb_range(0, k), special, stream);
  switch_group(digits, source, key, key_digits, tile.limb_range(k, out.limbs), out, stream);
  if (last.data == nullptr) return;
  switch_group(digits, source, key, key_digits, tile.limb_range(k + out.limbs, 1), last, stream);
}

void Backend::divide_product(View special, View values, View last, ConstView a, ConstView b, View tile,
                             const memory::Stream& stream) const {
  shapes::divide_product(*basis_, special, values, last, a, b, tile);
  const int kept = values.limbs;
  View room = tile.limb_range(0, 1);
  room.first_prime = last.first_prime;
  begin_mod_down(special, stream);
  mod_down_tensor(special, last, a.limb_range(kept, 1), b.limb_range(kept, 1), room, stream);
  mod_down_tensor(special, values, a.limb_range(0, kept), b.limb_range(0, kept), tile, stream);
  begin_rescale(last, stream);
  finish_rescale(last, values, tile, stream);
}

void Backend::mod_down_tensor(ConstView special, View values, ConstView a, ConstView b, View tile,
                              const memory::Stream& stream) const {
  mod_down(special, values, {}, {}, tile, stream);
  tensor_add(a, b, values, stream);
}

}  // namespace fheres::ring
