#pragma once

#include <fheres/ckks/keys.hpp>

#include "ckks/key_switch.hpp"

namespace fheres::ckks {

/// out = rescale(a * b, relinearized): the residues of switch_key, tensor_add and rescale one after the
/// other, where `out` has one limb less than a and b. The last limb is finished first; every other group of
/// output limbs is rescaled while it is at hand. Uses exactly key_switch_workspace and two limbs more. a and
/// b may be the same.
void multiply_and_rescale(const Context& context, ring::ConstView a, ring::ConstView b, const KeyView& key,
                          ring::View out, std::uint64_t* workspace, int group, const memory::Stream& stream);

}  // namespace fheres::ckks
