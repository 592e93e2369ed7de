#pragma once

#include <cstdint>

#include <fheres/scheme/modulus.hpp>

/// Usable from device code where a CUDA compiler reads it; needs no CUDA header.
#ifdef __CUDACC__
#define FHERES_HOST_DEVICE __host__ __device__
#else
#define FHERES_HOST_DEVICE
#endif

namespace fheres::ring {

using Wide = unsigned __int128;
using SignedWide = __int128;

FHERES_HOST_DEVICE inline std::uint64_t high_word(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

/// A constant factor w in [0, q) with floor(w * 2^64 / q): a product by it needs no division.
struct Shoup {
  std::uint64_t value = 0;
  std::uint64_t quotient = 0;
};

FHERES_HOST_DEVICE inline Shoup make_shoup(std::uint64_t value, std::uint64_t q) {
  return {value, static_cast<std::uint64_t>((static_cast<Wide>(value) << 64) / q)};
}

/// a * w modulo q, in [0, 2q), for any 64-bit a.
FHERES_HOST_DEVICE inline std::uint64_t mul_lazy(std::uint64_t a, Shoup w, std::uint64_t q) {
  return a * w.value - high_word(a, w.quotient) * q;
}

/// One conditional subtraction: a in [0, 2q) gives [0, q).
FHERES_HOST_DEVICE inline std::uint64_t reduce_once(std::uint64_t a, std::uint64_t q) {
  return a >= q ? a - q : a;
}

/// a * w modulo q, in [0, q), for any 64-bit a.
FHERES_HOST_DEVICE inline std::uint64_t mul_shoup(std::uint64_t a, Shoup w, std::uint64_t q) {
  return reduce_once(mul_lazy(a, w, q), q);
}

/// Any 128-bit value modulo q, in [0, q). Barrett with floor(2^128 / q): the estimated quotient is at most 2
/// short.
FHERES_HOST_DEVICE inline std::uint64_t reduce_wide(Wide x, const scheme::Modulus& q) {
  const auto low = static_cast<std::uint64_t>(x);
  const auto high = static_cast<std::uint64_t>(x >> 64);
  const Wide middle = static_cast<Wide>(low) * q.ratio_high + high_word(low, q.ratio_low);
  const Wide cross = static_cast<Wide>(high) * q.ratio_low + static_cast<std::uint64_t>(middle);
  const std::uint64_t estimate = high * q.ratio_high + static_cast<std::uint64_t>(middle >> 64) +
                                 static_cast<std::uint64_t>(cross >> 64);
  const std::uint64_t rest = low - estimate * q.value;
  return reduce_once(reduce_once(rest, q.value), q.value);
}

/// Any 64-bit value modulo q.
FHERES_HOST_DEVICE inline std::uint64_t reduce_word(std::uint64_t x, const scheme::Modulus& q) {
  return reduce_once(x - high_word(x, q.ratio_high) * q.value, q.value);
}

/// Any integer above -2^127 modulo q, in [0, q).
FHERES_HOST_DEVICE inline std::uint64_t reduce_signed(SignedWide x, const scheme::Modulus& q) {
  const std::uint64_t rest = reduce_wide(x < 0 ? Wide{0} - static_cast<Wide>(x) : static_cast<Wide>(x), q);
  return x < 0 && rest != 0 ? q.value - rest : rest;
}

/// Operands in [0, q), result in [0, q).
FHERES_HOST_DEVICE inline std::uint64_t mul_barrett(std::uint64_t a, std::uint64_t b,
                                                    const scheme::Modulus& q) {
  return reduce_wide(static_cast<Wide>(a) * b, q);
}
FHERES_HOST_DEVICE inline std::uint64_t add_reduced(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return reduce_once(a + b, q);
}
FHERES_HOST_DEVICE inline std::uint64_t sub_reduced(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return a >= b ? a - b : a + q - b;
}

}  // namespace fheres::ring
