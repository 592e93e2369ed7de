#include <algorithm>

#include <fheres/scheme/sizes.hpp>

namespace fheres::scheme {
namespace {

Bytes limb_bytes(const Parameters& parameters) { return 8 * parameters.n(); }

}  // namespace

Bytes key_switch_workspace(const Parameters& parameters, int level, int group) {
  const int l = parameters.limbs(level);
  const int k = parameters.special_limbs();
  const int d = parameters.digits(level);
  const bool whole = group == 0 || group >= std::max(k, l);
  const int limbs = whole ? std::max(d * (l + k), 2 * l) + 2 * k : l + std::max(d, 2) * group + 2 * k;
  return static_cast<Bytes>(limbs) * limb_bytes(parameters);
}

Bytes rescale_workspace(const Parameters& parameters, int components) {
  return static_cast<Bytes>(components) * limb_bytes(parameters);
}

Bytes context_bytes(const Parameters& parameters) {
  return 4 * static_cast<Bytes>(parameters.prime_count()) * limb_bytes(parameters);
}

}  // namespace fheres::scheme
