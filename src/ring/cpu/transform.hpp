#pragma once

#include <cstdint>

#include <fheres/ring/basis.hpp>

/// Transforms of one polynomial modulo one prime, on the calling thread.
namespace fheres::ring::cpu {

/// In place, natural order to the pinned order. In: [0, 4q). Out: canonical.
void forward(std::uint64_t* x, const NttTables& tables, int log_n, std::uint64_t q);

/// In place, pinned order to natural order, 1/N included, then times `scale`. In: [0, 2q). Out: canonical.
void inverse(std::uint64_t* x, const NttTables& tables, int log_n, const scheme::Modulus& q,
             std::uint64_t scale = 1);

}  // namespace fheres::ring::cpu
