#include "ring/cuda/convert.cuh"
#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"
#include "ring/cuda/source.cuh"

namespace fheres::ring::cuda {
namespace {

struct FromSource {
  SourceArray source;
  struct Reader {
    SourceLimb limb;
    template <int kHeld, class At>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const At& at) const {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = limb(at.first + At::offset(h));
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int limb, int) const {
    return {source_limb(source, tables, prime, limb)};
  }
};

/// word + offset modulo another prime, for a forward transform. `wide`: the words' prime is too large for doubles; then
/// a word is two pieces, of 30 and at most 31 bits.
template <int kHeld>
struct FromWords {
  const u64 (&words)[kHeld];
  bool wide;
  u64 offset;
  scheme::Modulus prime;

  template <class At>
  __device__ __forceinline__ void numbers(double (&x)[kHeld], const At&, const DoubleField& field) const {
    const double start = DoubleField::from_residue(offset);
    if (!wide) {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        x[h] = field.settle(DoubleField::plus(DoubleField::from_residue(words[h]), start));
      }
      return;
    }
    constexpr u64 kPiece = u64{1} << 30;
    const double unit = field.settle(static_cast<double>(kPiece));
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const double low = DoubleField::from_residue(words[h] & (kPiece - 1));
      x[h] = DoubleField::plus(field.settle(DoubleField::plus(low, start)),
                               field.multiply(DoubleField::from_residue(words[h] >> 30), unit));
    }
  }
  template <class At>
  __device__ __forceinline__ void numbers(u64 (&x)[kHeld], const At&, const IntegerField&) const {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) x[h] = reduce_word(words[h] + offset, prime);
  }
};

/// The centred residues of one digit, converted to a prime that is not one of its own: up_offset[m-1][t][j] plus the
/// sum over the digit's m active limbs of digits_i up_factor[m-1][t][i].
struct FromDigits {
  static constexpr double kOpening = 0;
  ConstArray digits;
  int limbs = 0;  // active Q limbs

  struct Reader {
    Sources sources;
    const Factor* pieces;
    const u64* factors;
    u64 offset;
    double unit;
    scheme::Modulus prime;

    template <int kHeld, class At>
    __device__ __forceinline__ void numbers(double (&x)[kHeld], const At& at,
                                            const DoubleField& field) const {
      if (sources.limbs == 1) return only_limb(x, at, field);
      DoubleSums<kHeld> sums(DoubleField::from_residue(offset));
      sum_products(sums, sources, pieces, at);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = sums.end(h, field, unit);
    }
    template <int kHeld, class At>
    __device__ __forceinline__ void numbers(u64 (&x)[kHeld], const At& at, const IntegerField& field) const {
      if (sources.limbs == 1) return only_limb(x, at, field);
      Wide sums[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) sums[h] = offset;
      sum_products(sums, sources, factors, at);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_wide(sums[h], prime);
    }

   private:
    // The factor is 1.
    template <class Number, int kHeld, class At, class Field>
    __device__ __forceinline__ void only_limb(Number (&x)[kHeld], const At& at, const Field& field) const {
      u64 words[kHeld];
      read_words(sources.first, words, at);
      FromWords<kHeld>{words, sources.wide != 0, offset, prime}.numbers(x, at, field);
    }
  };

  struct Digit {
    Sources sources;
    int digit;
    __device__ __forceinline__ Reader reader(const Tables& tables, int prime) const {
      const std::size_t row =
          static_cast<std::size_t>(sources.limbs - 1) * (tables.special_limbs + tables.q_limbs) + prime;
      const std::size_t at = row * tables.q_limbs + (sources.first_prime - tables.special_limbs);
      const int all_digits = (tables.q_limbs + tables.digit_limbs - 1) / tables.digit_limbs;
      return {sources,
              tables.up_pieces + at,
              tables.up_factor + at,
              tables.up_offset[row * all_digits + digit],
              tables.doubles[prime].sum_unit,
              tables.primes[prime]};
    }
  };
  template <class At>
  __device__ __forceinline__ Digit open(const Tables& tables, int digit, const At&) const {
    const int begin = digit * tables.digit_limbs;
    const int active = min(tables.digit_limbs, limbs - begin);
    return {{digits.at(begin, 0), digits.limb_stride, active, tables.special_limbs + begin, tables.primes},
            digit};
  }
};

/// The same where a digit is one limb: there is nothing to sum, and a lighter kernel leaves room for more of them.
struct FromLimb {
  ConstArray digits;

  struct Reader {
    const u64* words;
    bool wide;
    u64 offset;
    scheme::Modulus prime;
    template <class Number, int kHeld, class At, class Field>
    __device__ __forceinline__ void numbers(Number (&x)[kHeld], const At& at, const Field& field) const {
      u64 own[kHeld];
      read_words(words, own, at);
      FromWords<kHeld>{own, wide, offset, prime}.numbers(x, at, field);
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int, int digit) const {
    const std::size_t at = static_cast<std::size_t>(prime) * tables.q_limbs + digit;
    return {digits.at(digit, 0), !in_doubles(tables.primes[tables.special_limbs + digit].value),
            tables.up_offset[at], tables.primes[prime]};
  }
};

/// The conversion and the first pass of the transform. Gives the job of what is left.
Job convert_digits(const Tables& tables, ConstDigits digits, const View& tile, cudaStream_t stream) {
  const Job job{tile.first_prime, tile.limbs, tile.polynomials, tables.digit_limbs, tables.special_limbs};
  if (tables.digit_limbs == 1) {
    run_pass<true, true>("mod up columns", tables, job, FromLimb{array(digits, 1)}, Stored{array(tile)},
                         stream);
  } else {
    run_conversion("mod up columns", tables, job, FromDigits{array(digits, tables.digit_limbs), digits.limbs},
                   array(tile), stream);
  }
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
