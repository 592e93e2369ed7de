#pragma once

#include <vector>

#include <fheres/scheme/circuit.hpp>

namespace fheres::scheme {

/// rotate_many: one ciphertext by every key of a list (rotations, conjugations), its decomposition shared
/// ("hoisting", Halevi and Shoup, "Faster homomorphic linear transformations in HElib", 2018). Each result
/// has the operand's type, and the residues that its own rotate or conjugate gives. Workspace:
/// hoisted_workspace. Refuses what rotate refuses; at least one key.
Signature infer_rotate_many(const Parameters& parameters, const ValueType& operand,
                            std::span<const ValueType> keys, int group = 0);

/// sum_slots: slot i becomes the sum of slots i - count + 1 .. i (cyclic); with count = all slots, every slot
/// the sum of all. By doubling: log2(count) rotations by 1, 2, 4, .. count / 2 steps, each added to what it
/// rotates. StateError unless count is a power of two from 2 to the slots.
Circuit sum_slots(const Parameters& parameters, const ValueType& operand, std::uint64_t count,
                  std::span<const ValueType> keys, int group = 0);
/// The keys that it needs for operands of a level.
std::vector<ValueType> sum_slots_keys(const Parameters& parameters, int level, std::uint64_t count);

}  // namespace fheres::scheme
