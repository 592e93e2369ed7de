#pragma once

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::scheme {

/// Workspace of an operation, in bytes, as pure functions of the parameters (design, page 05, "Bytes and
/// workspace"). b = 8N, l = limbs(level), k = special limbs, d = digits(level), u = l + k, g = `group` output
/// limbs. Whole (g = 0, or g >= max(k, l)): (max(d u, 2 l) + 2 k) b. In groups: (l + max(d, 2) g + 2 k) b.
Bytes key_switch_workspace(const Parameters& parameters, int level, int group);
/// Of r rotations of one decomposition: the same with 2 k r in the place of 2 k.
Bytes hoisted_workspace(const Parameters& parameters, int level, int rotations, int group);
/// c b.
Bytes rescale_workspace(const Parameters& parameters, int components);
/// Transform tables of all primes on one device: 4 b a prime, at most. Primes that a device computes in doubles take
/// half of that; Backend::table_bytes says what is there.
Bytes context_bytes(const Parameters& parameters);

}  // namespace fheres::scheme
