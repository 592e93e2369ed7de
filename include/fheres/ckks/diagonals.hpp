#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <vector>

#include <fheres/ckks/encoder.hpp>
#include <fheres/scheme/linear_transform.hpp>

namespace fheres::ckks {

/// The plaintexts of a linear transform, in the order of transform.diagonals(): each diagonal turned back by
/// its giant step and encoded. `diagonals` has exactly the transform's, each of at most N/2 slots (what is
/// missing is zero), under any index that is theirs modulo the slots: scheme::ParameterError. Form:
/// prepared_qp, or compact for later expansion.
std::vector<Plaintext> encode_diagonals(
    const Encoder& encoder, const scheme::Parameters& parameters, const scheme::LinearTransform& transform,
    const std::map<std::int64_t, std::vector<std::complex<double>>>& diagonals, int level,
    const scheme::Scale& scale, scheme::PlaintextForm form = scheme::PlaintextForm::prepared_qp);

}  // namespace fheres::ckks
