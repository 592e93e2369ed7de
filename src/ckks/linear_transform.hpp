#pragma once

#include <span>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/ckks/plaintext.hpp>
#include <fheres/memory/stream.hpp>
#include <fheres/scheme/linear_transform.hpp>

namespace fheres::ckks {

/// out = transform(a), not rescaled; operands are checked. Rotations by baby steps stay over P and Q, P times
/// too large, and so do the sums of their products with diagonals; a giant step divides only what it
/// decomposes, and all giant steps share the last division. Uses exactly the workspace of transform.infer.
void transform_slots(const Context& context, const scheme::LinearTransform& transform,
                     const CiphertextView& a, std::span<const PlaintextView> diagonals,
                     std::span<const KeyView> keys, const CiphertextRef& out, std::uint64_t* workspace,
                     const memory::Stream& stream);

}  // namespace fheres::ckks
