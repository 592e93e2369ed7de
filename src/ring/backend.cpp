#include <fheres/ring/backend.hpp>

#include "ring/shapes.hpp"

namespace fheres::ring {

void Backend::switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                           View tile, View out, const memory::Stream& stream) const {
  mod_up(digits, tile, stream);
  key_product(tile, source, key, key_digits, out, stream);
}

void Backend::switch_whole(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                           View tile, View special, View out, const memory::Stream& stream) const {
  shapes::switch_whole(*basis_, tile, special, out);
  const int k = basis_->special_limbs();
  switch_group(digits, source, key, key_digits, tile.limb_range(0, k), special, stream);
  switch_group(digits, source, key, key_digits, tile.limb_range(k, out.limbs), out, stream);
}

void Backend::mod_down_tensor(ConstView special, View values, ConstView a, ConstView b, View tile,
                              const memory::Stream& stream) const {
  mod_down(special, values, {}, {}, tile, stream);
  tensor_add(a, b, values, stream);
}

}  // namespace fheres::ring
