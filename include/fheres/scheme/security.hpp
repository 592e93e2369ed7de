#pragma once

#include <optional>

#include <fheres/scheme/parameters.hpp>

namespace fheres::scheme {

/// The largest log2(QP), in bits, with 128-bit classical security for a ternary secret at N = 2^log_n.
/// guidelines_2024: ePrint 2024/463; he_standard_2018: the homomorphic encryption standard, 2018.
/// Nothing for SecurityTable::none or outside log_n 10..17.
std::optional<int> max_log_qp(SecurityTable table, int log_n);

}  // namespace fheres::scheme
