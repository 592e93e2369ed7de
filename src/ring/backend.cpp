#include <fheres/ring/backend.hpp>

namespace fheres::ring {

void Backend::switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                           View tile, View out, const memory::Stream& stream) const {
  mod_up(digits, tile, stream);
  key_product(tile, source, key, key_digits, out, stream);
}

}  // namespace fheres::ring
