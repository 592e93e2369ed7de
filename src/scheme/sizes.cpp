#include <algorithm>

#include <fheres/scheme/sizes.hpp>

namespace fheres::scheme {
namespace {

Bytes limb_bytes(const Parameters& parameters) { return 8 * parameters.n(); }

}  // namespace

Bytes key_switch_workspace(const Parameters& parameters, int level, int group) {
  return hoisted_workspace(parameters, level, 1, group);
}

Bytes hoisted_workspace(const Parameters& parameters, int level, int rotations, int group) {
  const int l = parameters.limbs(level);
  const int k = parameters.special_limbs();
  const int d = parameters.digits(level);
  const bool whole = group == 0 || group >= std::max(k, l);
  const int shared = whole ? std::max(d * (l + k), 2 * l) : l + std::max(d, 2) * group;
  return static_cast<Bytes>(shared + 2 * k * rotations) * limb_bytes(parameters);
}

Bytes rescale_workspace(const Parameters& parameters, int components) {
  return static_cast<Bytes>(components) * limb_bytes(parameters);
}

Bytes context_bytes(const Parameters& parameters) {
  return 4 * static_cast<Bytes>(parameters.prime_count()) * limb_bytes(parameters);
}

}  // namespace fheres::scheme
