#pragma once

#include <memory>
#include <span>
#include <vector>

#include <fheres/ring/ntt_tables.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::ring {

/// Constants of base conversion, canonical, in flat arrays that a back end copies to its device. Notation: L
/// = all Q limbs, k = special limbs, a = digit limbs, l = active Q limbs; t is a prime index of the basis
/// (special primes first), i a Q limb. Limb i is in digit i / a, which has m = min(a, l - (i / a) a) active
/// limbs; D is their product, P the product of the special primes.
struct ConversionTables {
  std::vector<Shoup> up_inverse;         // [m - 1][i]: (D / q_i)^-1 modulo q_i
  std::vector<std::uint64_t> up_factor;  // [m - 1][t][i]: D / q_i modulo prime t
  std::vector<std::uint64_t> up_half;    // [i]: (q_i - 1) / 2
  std::vector<std::uint64_t>
      up_offset;                    // [m - 1][t][j]: -sum of (D / q_i) (q_i - 1) / 2 modulo prime t, over the
                                    // first m limbs i of digit j, j < digits(L)
  std::vector<Shoup> down_inverse;  // [s]: (P / p_s)^-1 modulo p_s
  std::vector<std::uint64_t> down_factor;   // [t][s]: P / p_s modulo prime t
  std::vector<std::uint64_t> down_ratio;    // [s]: floor(2^(63 + bits(p_s)) / p_s), for the overflow count
  std::vector<std::uint64_t> special;       // [t]: P modulo prime t
  std::vector<Shoup> special_inverse;       // [t]: 1/P modulo prime t; zero for special primes
  std::vector<std::uint64_t> special_half;  // [t]: floor(P / 2) modulo prime t
  std::vector<Shoup> last_inverse;          // [last][i]: 1/q_last modulo q_i, for i < last; else zero
  // up_inverse, up_factor and up_offset are zero where limb i, or limb m - 1 of digit j, is not there.
};

/// The primes of RNS polynomials, N, digits, and every constant derived from them. Immutable, thread safe.
///
/// **Prime index**: special primes first (0 .. k-1), then Q ascending (k .. k+L-1). So a ciphertext, a
/// switching key, and any group of output limbs cover a contiguous range. (scheme::Parameters counts Q
/// first.)
class Basis {
 public:
  /// For any N = 2^log_n with 1 <= log_n <= 17. Throws std::invalid_argument unless the primes differ, are 1
  /// mod 2N, q is not empty and 1 <= digit_limbs <= 32. No special primes: no key switching.
  static std::shared_ptr<const Basis> make(int log_n, std::span<const scheme::Modulus> q,
                                           std::span<const scheme::Modulus> p, int digit_limbs);
  static std::shared_ptr<const Basis> make(const scheme::Parameters& parameters);

  int log_n() const { return log_n_; }
  std::size_t n() const { return std::size_t{1} << log_n_; }
  int special_limbs() const { return special_limbs_; }                  // k
  int q_limbs() const { return prime_count() - special_limbs_; }        // L
  int prime_count() const { return static_cast<int>(primes_.size()); }  // k + L
  int digit_limbs() const { return digit_limbs_; }                      // a
  int digits(int limbs) const { return (limbs + digit_limbs_ - 1) / digit_limbs_; }

  const scheme::Modulus& prime(int index) const { return primes_[static_cast<std::size_t>(index)]; }
  std::span<const scheme::Modulus> primes() const { return primes_; }
  const NttTables& ntt(int index) const { return ntt_[static_cast<std::size_t>(index)]; }
  const ConversionTables& conversion() const { return conversion_; }

 private:
  Basis() = default;
  void fill_conversion();

  int log_n_ = 0;
  int special_limbs_ = 0;
  int digit_limbs_ = 0;
  std::vector<scheme::Modulus> primes_;
  std::vector<NttTables> ntt_;
  ConversionTables conversion_;
};

}  // namespace fheres::ring
