#pragma once

#include <fheres/ckks/value.hpp>

namespace fheres::ckks {

/// [limb][component][N], ntt domain, canonical residues. View: read only; Ref: writable.
using CiphertextView = ValueView<Family::ciphertext, const std::uint64_t>;
using CiphertextRef = ValueView<Family::ciphertext, std::uint64_t>;
using Ciphertext = HostValue<Family::ciphertext>;

}  // namespace fheres::ckks
