#include "ring/cuda/gather.hpp"
#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"

namespace fheres::ring::cuda {
namespace {

/// z_t of Backend::mod_down from the residues w_s of begin_mod_down, canonical. The count v is below k, so
/// sum of w_s factor_s (k products below 2^122) + v (t - P mod t) + (t - P/2 mod t) stays below 2^128 for k <= 32.
struct FromSpecial {
  ConstArray special;
  struct Reader {
    const u64* first;
    std::size_t limb_stride;
    const u64* factors;
    const u64* ratios;
    const u64* shifts;
    int special_limbs;
    u64 minus_special, minus_half;
    scheme::Modulus prime;
    template <bool kPairs>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
      Wide sum[kHeld], count[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sum[h] = minus_half;
        count[h] = 0;
      }
      const u64* residues = first;
      for (int s = 0; s < special_limbs; ++s, residues += limb_stride) {
        const u64 factor = factors[s], ratio = ratios[s];
        const int shift = static_cast<int>(shifts[s]);
#pragma unroll
        for (int h = 0; h < kHeld; ++h) {
          const u64 w = residues[position[h]];
          sum[h] += static_cast<Wide>(w) * factor;
          count[h] += (static_cast<Wide>(w) * ratio) >> shift;
        }
      }
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        const u64 overflow = static_cast<u64>(count[h] >> 64);
        x[h] = reduce_wide(sum[h] + static_cast<Wide>(overflow) * minus_special, prime);
      }
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int, int polynomial) const {
    const scheme::Modulus q = tables.primes[prime];
    return {special.at(0, polynomial),
            special.limb_stride,
            tables.down_factor + static_cast<std::size_t>(prime) * tables.special_limbs,
            tables.down_ratio,
            tables.down_shift,
            tables.special_limbs,
            q.value - tables.special[prime],
            q.value - tables.special_half[prime],
            q};
  }
};

/// values = (values - z) / P + addend(X^exponent), canonical, in place. The addend has
/// addend_polynomials, maybe none.
struct IntoQuotient {
  Array values;
  ConstArray addend;
  int addend_polynomials = 0;
  unsigned exponent = 1;
  struct Writer {
    u64* values;
    const u64* addend;  // or null
    unsigned exponent;
    int log_n;
    u64 q;
    Shoup inverse;
    template <bool kPairs>
    __device__ __forceinline__ void drain(const u64 (&z)[kHeld], const unsigned (&position)[kHeld]) const {
      u64 x[kHeld];
      read_words<kPairs>(values, x, position);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = mul_shoup(x[h] + q - z[h], inverse, q);
      if (addend != nullptr) {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) {
          const unsigned from = exponent == 1 ? position[h] : gather_source(position[h], exponent, log_n);
          x[h] = add_reduced(x[h], addend[from], q);
        }
      }
      write_words<kPairs>(values, x, position);
    }
  };
  __device__ __forceinline__ Writer open(const Tables& tables, int prime, int limb, int polynomial) const {
    return {values.at(limb, polynomial),
            polynomial < addend_polynomials ? addend.at(limb, polynomial) : nullptr,
            exponent,
            tables.log_n,
            tables.primes[prime].value,
            tables.special_inverse[prime]};
  }
};

/// y - half modulo t, in [0, 2t), from y in [0, q_last).
struct FromLast {
  ConstArray last;
  u64 half = 0;
  struct Reader {
    const u64* last;
    scheme::Modulus prime;
    u64 minus_half;
    template <bool kPairs>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_word(last[position[h]], prime) + minus_half;
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int, int polynomial) const {
    const scheme::Modulus q = tables.primes[prime];
    return {last.at(0, polynomial), q, q.value - reduce_word(half, q)};
  }
};

/// out = (in multiplier - z) / q_last, canonical. `out` may be `in`, or where z stands.
struct IntoRescaled {
  ConstArray in;
  Array out;
  const Shoup* last_inverse = nullptr;  // [i] of the dropped limb
  u64 multiplier = 1;
  struct Writer {
    const u64* in;
    u64* out;
    scheme::Modulus prime;
    Shoup inverse;
    u64 multiplier;
    template <bool kPairs>
    __device__ __forceinline__ void drain(const u64 (&z)[kHeld], const unsigned (&position)[kHeld]) const {
      u64 x[kHeld];
      read_words<kPairs>(in, x, position);
      if (multiplier != 1) {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) x[h] = mul_barrett(x[h], multiplier, prime);
      }
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = mul_shoup(x[h] + prime.value - z[h], inverse, prime.value);
      write_words<kPairs>(out, x, position);
    }
  };
  __device__ __forceinline__ Writer open(const Tables& tables, int prime, int limb, int polynomial) const {
    const scheme::Modulus q = tables.primes[prime];
    return {in.at(limb, polynomial), out.at(limb, polynomial), q, last_inverse[prime - tables.special_limbs],
            reduce_word(multiplier, q)};
  }
};

}  // namespace

void begin_mod_down(const Tables& tables, View special, cudaStream_t stream) {
  const Job job{special.first_prime, special.limbs, special.polynomials, 0, 0};
  const Array values = array(special);
  inverse_rows(tables, job, read_only(values), values, stream);
  Ends ends;
  ends.whole = tables.end_down + special.first_prime;
  ends.partial_from = special.limbs;
  inverse_columns(tables, job, values, ends, stream);
}

void mod_down(const Tables& tables, ConstView special, View values, ConstView addend, std::uint32_t exponent,
              View tile, cudaStream_t stream) {
  const Job job{values.first_prime, values.limbs, values.polynomials, 0, 0};
  const Array middle = array(tile);
  run_pass<true, true>("mod down columns", tables, job, FromSpecial{array(special)}, Stored{middle}, stream);
  const IntoQuotient into{array(values), array(addend), addend.data == nullptr ? 0 : addend.polynomials,
                          exponent};
  run_pass<false, true>("mod down rows", tables, job, Plain{read_only(middle)}, into, stream);
}

void begin_rescale(const Tables& tables, ConstView in_last, const Affine& end, View last,
                   cudaStream_t stream) {
  const Job dropped{last.first_prime, 1, last.polynomials, 0, 0};
  const Array y = array(last);
  inverse_rows(tables, dropped, array(in_last), y, stream);
  Ends ends;
  ends.one = end;
  inverse_columns(tables, dropped, y, ends, stream);
}

void finish_rescale(const Tables& tables, ConstView last, u64 half, ConstView in, u64 multiplier, View out,
                    View tile, cudaStream_t stream) {
  const Job kept{out.first_prime, out.limbs, out.polynomials, 0, 0};
  const Array middle = array(tile);
  run_pass<true, true>("rescale columns", tables, kept, FromLast{array(last), half}, Stored{middle}, stream);
  const std::size_t dropped_limb = static_cast<std::size_t>(last.first_prime - tables.special_limbs);
  const IntoRescaled into{array(in), array(out), tables.last_inverse + dropped_limb * tables.q_limbs,
                          multiplier};
  run_pass<false, true>("rescale rows", tables, kept, Plain{read_only(middle)}, into, stream);
}

}  // namespace fheres::ring::cuda
