#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"
#include "ring/cuda/source.cuh"

namespace fheres::ring::cuda {
namespace {

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

/// The conversion and the first pass of the transform. Gives the job of what is left.
Job convert_digits(const Tables& tables, ConstDigits digits, const View& tile, cudaStream_t stream) {
  const Job job{tile.first_prime, tile.limbs, tile.polynomials, tables.digit_limbs, tables.special_limbs};
  run_pass<true, true>("mod up columns", tables, job,
                       FromDigits{array(digits, tables.digit_limbs), digits.limbs}, Stored{array(tile)},
                       stream);
  return job;
}

}  // namespace

void decompose(const Tables& tables, const Source& source, Digits out, cudaStream_t stream) {
  const int limbs = source.values.limbs;
  const int a = tables.digit_limbs;
  const int full_digits = limbs / a;
  const Job job{tables.special_limbs, limbs, 1, 0, 0};
  const Array digits = array(out, a);
  run_pass<false, false>("decompose rows", tables, job, FromSource{source_array(source)}, Stored{digits},
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
  forward_rows(tables, convert_digits(tables, digits, out, stream), array(out), stream);
}

void switch_group(const Tables& tables, ConstDigits digits, const Source& source, const u64* key,
                  int key_digits, View tile, const Products& out, cudaStream_t stream) {
  const Job job = convert_digits(tables, digits, tile, stream);
  if (worth_fusing(tables, tile)) {
    product_rows(tables, tile, source, key, key_digits, out, stream);
  } else {
    forward_rows(tables, job, array(tile), stream);
    key_product(tables, tile, 1, source, key, key_digits, out, stream);
  }
}

}  // namespace fheres::ring::cuda
