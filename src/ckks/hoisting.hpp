#pragma once

#include <span>

#include <fheres/ckks/ciphertext.hpp>
#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/memory/stream.hpp>

namespace fheres::ckks {

/// The automorphism of a rotation or conjugation key.
ring::Automorphism automorphism_of(const Context& context, const scheme::ValueType& key);

/// outs[i] = a through keys[i]'s automorphism, switched back: a's decomposition is extended once and read
/// through each automorphism. Uses exactly scheme::hoisted_workspace. All products come first, so that the
/// extended tile is free when the divisions need room.
void rotate_hoisted(const Context& context, ring::ConstView a, std::span<const KeyView> keys,
                    std::span<const CiphertextRef> outs, std::uint64_t* workspace, int group,
                    const memory::Stream& stream);

}  // namespace fheres::ckks
