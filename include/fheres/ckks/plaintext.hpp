#pragma once

#include <fheres/ckks/value.hpp>

namespace fheres::ckks {

/// [limb][N], ntt domain, canonical residues (the `prepared` form). View: read only; Ref: writable.
using PlaintextView = ValueView<Family::plaintext, const std::uint64_t>;
using PlaintextRef = ValueView<Family::plaintext, std::uint64_t>;
using Plaintext = HostValue<Family::plaintext>;

}  // namespace fheres::ckks
