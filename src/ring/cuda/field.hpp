#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fheres/ring/modarith.hpp>

#ifdef __CUDACC__
#define FHERES_INLINE __host__ __device__ __forceinline__
#define FHERES_UNROLL _Pragma("unroll")
#else
#define FHERES_INLINE inline
#define FHERES_UNROLL
#endif

// The two arithmetics of the transforms, one for every size of prime. Both are exact, so both give the same residues.
// A Number is what a thread holds of a residue; between passes it is stored as its 64 bits.
namespace fheres::ring::cuda {

using u64 = std::uint64_t;

/// Words of a table, wherever it stands, the pair in one 16-byte access: device tables are aligned for it, and `index` is
/// even.
struct WordPair {
  u64 first, second;
};
FHERES_INLINE WordPair read_pair(const u64* table, int index) {
#ifdef __CUDA_ARCH__
  const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(table + index);
  return {pair.x, pair.y};
#else
  return {table[index], table[index + 1]};
#endif
}

/// 64-bit integers, any prime below 2^61. A root is w with floor(w 2^64 / q), two words of a table. Lazy: forward in
/// [0, 4q), inverse in [0, 2q).
struct IntegerField {
  using Number = u64;
  using Root = Shoup;
  static constexpr int kRootWords = 2;
  u64 q;

  FHERES_INLINE explicit IntegerField(u64 prime) : q(prime) {}
  FHERES_INLINE static u64 load(u64 bits) { return bits; }
  FHERES_INLINE static u64 store(u64 x) { return x; }
  FHERES_INLINE static Root root(const u64* table, int index) {
    const WordPair words = read_pair(table, 2 * index);
    return {words.first, words.second};
  }
  /// Roots `index` (even) and the next.
  FHERES_INLINE static void two_roots(const u64* table, int index, Root (&out)[2]) {
    out[0] = root(table, index);
    out[1] = root(table, index + 1);
  }
  FHERES_INLINE static u64 from_residue(u64 x) { return x; }
  FHERES_INLINE u64 to_residue(u64 x) const { return reduce_once(reduce_once(x, 2 * q), q); }

  /// x, y in [0, 4q) -> x + w y, x - w y in [0, 4q).
  FHERES_INLINE void forward(u64& x, u64& y, Root w) const {
    const u64 u = reduce_once(x, 2 * q);
    const u64 v = mul_lazy(y, w, q);
    x = u + v;
    y = u + 2 * q - v;
  }
  /// x, y in [0, 2q) -> x + y, w (x - y) in [0, 2q).
  FHERES_INLINE void inverse(u64& x, u64& y, Root w) const {
    const u64 difference = x + 2 * q - y;
    x = reduce_once(x + y, 2 * q);
    y = mul_lazy(difference, w, q);
  }
  FHERES_INLINE static u64 settle(u64 x) { return x; }
};

/// Integers in double precision, primes below kDoubleLimit. A root is w, as the bits of a double.
///
/// multiply(y, w) = y w - k q with h = fl(y w), k = rint(h fl(1 / q)), for integers |y| <= 2^50 and |w| < q:
/// - k is found by adding and taking away 1.5 2^52, which rounds to an integer as |k| < 2^51. The roundings of h and of
///   1 / q move the quotient by at most |y| 2^-52, so k is off by at most 1/2 + 1/4 and the result is within 3q/4.
/// - h is an integer, h - k q is one below 2^53 in size, and so is the error y w - h: the three fused operations round
///   nothing.
/// Forward: a residue of at most 2q gains 3q/4 a stage, so after all 17 stages it is below 15 q < 2^50 with no
/// reduction on the way. Inverse: what a round of at most four stages starts with is at most 3q/4 (at first q), sums
/// double a stage and stay below 16 q, and settle() brings them back.
struct DoubleField {
  using Number = double;
  using Root = double;
  static constexpr int kRootWords = 1;
  double q, inverse_q;

  FHERES_INLINE explicit DoubleField(u64 prime) : q(static_cast<double>(prime)), inverse_q(1.0 / q) {}
  FHERES_INLINE DoubleField(double prime, double inverse) : q(prime), inverse_q(inverse) {}
  FHERES_INLINE static double load(u64 bits) { return from_bits(bits); }
  FHERES_INLINE static u64 store(double x) { return to_bits(x); }
  FHERES_INLINE static Root root(const u64* table, int index) { return from_bits(table[index]); }
  FHERES_INLINE static void two_roots(const u64* table, int index, Root (&out)[2]) {
    const WordPair words = read_pair(table, index);
    out[0] = from_bits(words.first);
    out[1] = from_bits(words.second);
  }
  /// x below 2^52, by its place in the bits of 2^52 + x.
  FHERES_INLINE static double from_residue(u64 x) { return plus(from_bits(x | kBias), -kTwo52); }
  FHERES_INLINE u64 to_residue(double x) const {
    const double r = settle(x);
    return to_bits(plus(r < 0 ? plus(r, q) : r, kTwo52)) ^ kBias;
  }

  FHERES_INLINE void forward(double& x, double& y, Root w) const {
    const double v = multiply(y, w);
    y = plus(x, -v);
    x = plus(x, v);
  }
  FHERES_INLINE void inverse(double& x, double& y, Root w) const {
    const double difference = plus(x, -y);
    x = plus(x, y);
    y = multiply(difference, w);
  }
  /// x - rint(x / q) q for |x| <= 2^51, within 3q/4.
  FHERES_INLINE double settle(double x) const { return fused(-rounded(x, inverse_q), q, x); }
  FHERES_INLINE double multiply(double y, double w) const {
    const double h = times(y, w);
    const double k = rounded(h, inverse_q);
    return plus(fused(-k, q, h), fused(y, w, -h));
  }
  /// sum + y w, reduced as multiply reduces.
  FHERES_INLINE double multiply_add(double y, double w, double sum) const {
    const double h = times(y, w);
    const double k = rounded(h, inverse_q);
    return plus(plus(sum, fused(-k, q, h)), fused(y, w, -h));
  }
  static constexpr double kTwo52 = 4503599627370496.0;
  static constexpr double kRound = 1.5 * kTwo52;
  static constexpr u64 kBias = 0x4330000000000000U;  // the bits of 2^52

  // Spelt out on the device, so that no compiler fuses or splits them.
  FHERES_INLINE static double plus(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
  }
  FHERES_INLINE static double times(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }
  FHERES_INLINE static double fused(double a, double b, double c) {
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
  }
  FHERES_INLINE static u64 to_bits(double x) {
#ifdef __CUDA_ARCH__
    return static_cast<u64>(__double_as_longlong(x));
#else
    return std::bit_cast<u64>(x);
#endif
  }
  FHERES_INLINE static double from_bits(u64 x) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double(static_cast<long long>(x));
#else
    return std::bit_cast<double>(x);
#endif
  }
  FHERES_INLINE static double rounded(double a, double b) { return plus(fused(a, b, kRound), -kRound); }
};

/// Primes below this are transformed in double precision.
inline constexpr u64 kDoubleLimit = u64{1} << 46;
FHERES_INLINE bool in_doubles(u64 q) { return q < kDoubleLimit; }

/// Roots as the prime's field reads them: kRootWords words each.
template <class Words>
void append_roots(const std::vector<Shoup>& roots, u64 q, Words& table) {
  for (const Shoup& root : roots) {
    if (in_doubles(q)) {
      table.push_back(std::bit_cast<u64>(static_cast<double>(root.value)));
    } else {
      table.push_back(root.value);
      table.push_back(root.quotient);
    }
  }
}

}  // namespace fheres::ring::cuda
