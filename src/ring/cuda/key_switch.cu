#include "ring/cuda/gather.hpp"
#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"

namespace fheres::ring::cuda {
namespace {

/// Source as kernels read it: exponent 1 without an automorphism, factor.data null without a factor.
struct SourceArray {
  ConstArray values;
  ConstArray factor;
  unsigned exponent = 1;
};

SourceArray source_array(const Source& source) {
  return {array(source.values), array(source.factor), source.automorphism.exponent};
}

/// One limb of a source: residue at a position of the ntt domain, canonical.
struct SourceLimb {
  const u64* values;
  const u64* factor;  // or null
  unsigned exponent;
  int log_n;
  scheme::Modulus prime;

  __device__ __forceinline__ u64 operator()(unsigned position) const {
    if (factor != nullptr) return mul_barrett(values[position], factor[position], prime);
    return values[exponent == 1 ? position : gather_source(position, exponent, log_n)];
  }
};

__device__ __forceinline__ SourceLimb source_limb(const SourceArray& source, const Tables& tables, int prime,
                                                  int limb) {
  return {source.values.at(limb, 0), source.factor.data == nullptr ? nullptr : source.factor.at(limb, 0),
          source.exponent, tables.log_n, tables.primes[prime]};
}

struct FromSource {
  SourceArray source;
  struct Reader {
    SourceLimb limb;
    template <bool kPairs>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = limb(position[h]);
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int limb, int) const {
    return {source_limb(source, tables, prime, limb)};
  }
};

/// The centred residues of one digit, converted to a prime that is not one of its own: up_offset[m-1][t][j] plus the
/// sum over the digit's m active limbs of digits_i up_factor[m-1][t][i], below 2^128 as m <= 32, reduced once.
struct FromDigits {
  ConstArray digits;
  int limbs = 0;  // active Q limbs
  struct Reader {
    const u64* first;  // the digit's first limb
    std::size_t limb_stride;
    const u64* factors;
    u64 offset;
    int active;
    scheme::Modulus prime;
    template <bool kPairs>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
      if (active == 1) {  // the factor is 1
#pragma unroll
        for (int h = 0; h < kHeld; ++h) x[h] = reduce_word(first[position[h]] + offset, prime);
        return;
      }
      Wide sum[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) sum[h] = offset;
      const u64* residues = first;
      for (int i = 0; i < active; ++i, residues += limb_stride) {
        const u64 factor = factors[i];
#pragma unroll
        for (int h = 0; h < kHeld; ++h) sum[h] += static_cast<Wide>(residues[position[h]]) * factor;
      }
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_wide(sum[h], prime);
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int, int digit) const {
    const int begin = digit * tables.digit_limbs;
    const int active = min(tables.digit_limbs, limbs - begin);
    const std::size_t row =
        static_cast<std::size_t>(active - 1) * (tables.special_limbs + tables.q_limbs) + prime;
    const int all_digits = (tables.q_limbs + tables.digit_limbs - 1) / tables.digit_limbs;
    return {digits.at(begin, 0),
            digits.limb_stride,
            tables.up_factor + row * tables.q_limbs + begin,
            tables.up_offset[row * all_digits + digit],
            active,
            tables.primes[prime]};
  }
};

constexpr int kProductThreads = 128;  // each sums two neighbouring coefficients

/// out(t, c)[n] = sum over j < digits of x_j[n] key(t, c, j)[n] mod t, c = 0, 1, where x_j is extended(t, j), or the
/// source where t is a limb of digit j. All canonical, ntt domain. Sums of fewer than 64 products below 2^122 are
/// exact. `out` may be part of nothing that is read.
__global__ void __launch_bounds__(kProductThreads)
    key_product_kernel(const Tables tables, const ConstArray extended, const SourceArray source,
                       const u64* __restrict__ key, const int key_digits, const int digits,
                       const int first_prime, const Array out) {
  const int limb = static_cast<int>(blockIdx.y);
  const int prime = first_prime + limb;
  const int own = prime - tables.special_limbs;
  const int diagonal = own >= 0 ? own / tables.digit_limbs : digits;
  const unsigned position = 2 * (blockIdx.x * kProductThreads + threadIdx.x);
  const std::size_t n = std::size_t{1} << tables.log_n;
  const u64* const key0 = key + static_cast<std::size_t>(prime) * 2 * key_digits * n + position;
  const u64* const key1 = key0 + static_cast<std::size_t>(key_digits) * n;
  const u64* const rows = extended.at(limb, 0) + position;

  Wide sum[2][2] = {{0, 0}, {0, 0}};
  const auto accumulate = [&](ulonglong2 x, int digit) {
    const ulonglong2 a =
        __ldg(reinterpret_cast<const ulonglong2*>(key0 + static_cast<std::size_t>(digit) * n));
    const ulonglong2 b =
        __ldg(reinterpret_cast<const ulonglong2*>(key1 + static_cast<std::size_t>(digit) * n));
    sum[0][0] += static_cast<Wide>(x.x) * a.x;
    sum[0][1] += static_cast<Wide>(x.y) * a.y;
    sum[1][0] += static_cast<Wide>(x.x) * b.x;
    sum[1][1] += static_cast<Wide>(x.y) * b.y;
  };
  const auto row = [&](int digit) {
    return *reinterpret_cast<const ulonglong2*>(rows +
                                                static_cast<std::size_t>(digit) * extended.polynomial_stride);
  };
#pragma unroll 4
  for (int digit = 0; digit < min(diagonal, digits); ++digit) accumulate(row(digit), digit);
#pragma unroll 4
  for (int digit = diagonal + 1; digit < digits; ++digit) accumulate(row(digit), digit);
  if (diagonal < digits) {
    const SourceLimb at = source_limb(source, tables, prime, own);
    accumulate(make_ulonglong2(at(position), at(position + 1)), diagonal);
  }

  const scheme::Modulus q = tables.primes[prime];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    *reinterpret_cast<ulonglong2*>(out.at(limb, c) + position) =
        make_ulonglong2(reduce_wide(sum[c][0], q), reduce_wide(sum[c][1], q));
  }
}

}  // namespace

void decompose(const Tables& tables, const Source& source, Digits out, cudaStream_t stream) {
  const int limbs = source.values.limbs;
  const int a = tables.digit_limbs;
  const int full_digits = limbs / a;
  const Job job{tables.special_limbs, limbs, 1, 0, 0};
  const Array digits = array(out, a);
  run_pass<false, false>("decompose rows", tables, job, FromSource{source_array(source)}, Lazy{digits},
                         stream);
  Ends ends;
  ends.whole = tables.end_up + static_cast<std::size_t>(a - 1) * tables.q_limbs;
  ends.partial_from = full_digits * a;
  if (ends.partial_from < limbs) {
    ends.partial = tables.end_up + static_cast<std::size_t>(limbs - ends.partial_from - 1) * tables.q_limbs;
  }
  inverse_columns(tables, job, digits, ends, stream);
}

void mod_up(const Tables& tables, ConstDigits digits, View out, cudaStream_t stream) {
  const Job job{out.first_prime, out.limbs, out.polynomials, tables.digit_limbs, tables.special_limbs};
  const Array to = array(out);
  run_pass<true, true>("mod up columns", tables, job,
                       FromDigits{array(digits, tables.digit_limbs), digits.limbs}, Lazy{to}, stream);
  forward_rows(tables, job, to, stream);
}

void key_product(const Tables& tables, ConstView extended, const Source& source, const u64* key,
                 int key_digits, View out, cudaStream_t stream) {
  const int pairs = (1 << tables.log_n) / 2;
  launch("key product", key_product_kernel, grid_of(pairs / kProductThreads, out.limbs), kProductThreads,
         stream, tables, array(extended), source_array(source), key, key_digits, extended.polynomials,
         out.first_prime, array(out));
}

}  // namespace fheres::ring::cuda
