#pragma once

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/memory/stream.hpp>

namespace fheres::ckks {

/// out = ModDown(sum over digits of ModUp(source) * key) + addend(X^automorphism): two polynomials over the l
/// limbs of `out`, ntt. The addend has at most two polynomials, or null data. Hybrid key switching (Han and
/// Ki, "Better bootstrapping for approximate homomorphic encryption", 2020), by groups of output limbs where
/// group > 0. Uses exactly scheme::key_switch_workspace bytes from `workspace` on. `out` overlaps nothing
/// else.
void switch_key(const Context& context, const ring::Source& source, const KeyView& key,
                ring::ConstView addend, ring::Automorphism automorphism, ring::View out,
                std::uint64_t* workspace, int group, const memory::Stream& stream);

}  // namespace fheres::ckks
