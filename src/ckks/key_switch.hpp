#pragma once

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/keys.hpp>
#include <fheres/memory/stream.hpp>

namespace fheres::ckks {

/// What a key switch adds to its result: values(X^automorphism), at most two polynomials or null data; or where
/// there is a factor the first two terms of the product of two ciphertexts.
struct Addend {
  ring::ConstView values;
  ring::Automorphism automorphism;
  ring::ConstView factor;
};

/// out = ModDown(sum over digits of ModUp(source) * key) + addend: two polynomials over the l limbs of `out`,
/// ntt. Hybrid key switching (Han and Ki, "Better bootstrapping for approximate homomorphic encryption", 2020),
/// by groups of output limbs where group > 0. Uses exactly scheme::key_switch_workspace bytes from `workspace`
/// on. `out` overlaps nothing else.
void switch_key(const Context& context, const ring::Source& source, const KeyView& key, const Addend& addend,
                ring::View out, std::uint64_t* workspace, int group, const memory::Stream& stream);

}  // namespace fheres::ckks
