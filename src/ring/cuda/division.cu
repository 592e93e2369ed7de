#include "ring/cuda/convert.cuh"
#include "ring/cuda/gather.hpp"
#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"

namespace fheres::ring::cuda {
namespace {

/// z_t of Backend::mod_down from the residues w_s of begin_mod_down. The count v of a coefficient serves every prime.
/// Integers: v is below k, so sum of w_s factor_s (k products below 2^122) + v (t - P mod t) + (t - P/2 mod t) stays
/// below 2^128 for k <= 32.
///
/// With kLast, z_t + P (y - half) mod t: so that a rescale by the last prime comes out of the same division. What stands
/// for y there is e = w / P + half, where w is the last limb before z was taken away: y = e - z / P modulo that prime.
/// Then k <= 31 for the same bounds.
template <bool kLast>
struct FromSpecial {
  static constexpr double kOpening = kLast ? 3 : 1.5;
  ConstArray special;
  ConstArray last = {};
  int last_prime = 0;
  u64 half = 0;

  template <int kHeld>
  struct Reader {
    Sources sources;
    const std::uint8_t (&counts)[kHeld];
    const u64 (&y)[kLast ? kHeld : 1];
    bool wide;  // y is too large for doubles
    const Factor* pieces;
    const u64* factors;
    DoublePrime doubles;
    u64 special, minus_special, start;
    scheme::Modulus prime;

    template <class At>
    __device__ __forceinline__ void numbers(double (&x)[kHeld], const At& at,
                                            const DoubleField& field) const {
      DoubleSums<kHeld> sums(DoubleField::from_residue(start));
      sum_products(sums, sources, pieces, at);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sums.add_small(h, DoubleField::from_residue(counts[h]), doubles.minus_special);
        if constexpr (kLast) {
          sums.add(h, DoubleField::from_residue(wide ? reduce_word(y[h], prime) : y[h]),
                   -doubles.minus_special);
        }
        x[h] = sums.end(h, field, doubles.sum_unit);
      }
    }
    template <class At>
    __device__ __forceinline__ void numbers(u64 (&x)[kHeld], const At& at, const IntegerField&) const {
      Wide sums[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sums[h] = start + static_cast<Wide>(counts[h]) * minus_special;
        if constexpr (kLast) sums[h] += static_cast<Wide>(y[h]) * special;
      }
      sum_products(sums, sources, factors, at);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_wide(sums[h], prime);
    }
  };

  template <int kHeld>
  struct Polynomial {
    Sources sources;
    std::uint8_t counts[kHeld];
    u64 y[kLast ? kHeld : 1];
    bool wide;
    u64 half;
    __device__ __forceinline__ Reader<kHeld> reader(const Tables& tables, int prime) const {
      const scheme::Modulus q = tables.primes[prime];
      const std::size_t at = static_cast<std::size_t>(prime) * tables.special_limbs;
      const u64 special = tables.special[prime];
      u64 start = q.value - tables.special_half[prime];
      if constexpr (kLast) {
        start = add_reduced(start, q.value - mul_barrett(reduce_word(half, q), special, q), 2 * q.value);
      }
      return {sources,
              counts,
              y,
              wide,
              tables.down_pieces + at,
              tables.down_factor + at,
              tables.doubles[prime],
              special,
              q.value - special,
              start,
              q};
    }
  };
  template <class At>
  __device__ __forceinline__ Polynomial<At::kHeld> open(const Tables& tables, int polynomial,
                                                        const At& at) const {
    Polynomial<At::kHeld> opened{
        {special.at(0, polynomial), special.limb_stride, tables.special_limbs, 0, tables.primes},
        {},
        {},
        false,
        half};
    Wide sums[At::kHeld];
#pragma unroll
    for (int h = 0; h < At::kHeld; ++h) sums[h] = 0;
    const u64* words = opened.sources.first + at.first;
#pragma unroll 1
    for (int s = 0; s < tables.special_limbs; ++s, words += special.limb_stride) {
      const u64 ratio = tables.down_ratio[s];
      const int shift = static_cast<int>(tables.down_shift[s]);
#pragma unroll
      for (int h = 0; h < At::kHeld; ++h)
        sums[h] += (static_cast<Wide>(words[At::offset(h)]) * ratio) >> shift;
    }
#pragma unroll
    for (int h = 0; h < At::kHeld; ++h) opened.counts[h] = static_cast<std::uint8_t>(sums[h] >> 64);
    if constexpr (kLast) open_last(opened, tables, polynomial, at);
    return opened;
  }

  /// y of the dropped limb, in [0, q).
  template <int kHeld, class At>
  __device__ __forceinline__ void open_last(Polynomial<kHeld>& opened, const Tables& tables, int polynomial,
                                            const At& at) const {
    const scheme::Modulus q = tables.primes[last_prime];
    const u64 minus_half = q.value - tables.special_half[last_prime];
    const u64 minus_special = q.value - tables.special[last_prime];
    const Shoup inverse = tables.special_inverse[last_prime];
    Wide sums[kHeld];
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      sums[h] = minus_half + static_cast<Wide>(opened.counts[h]) * minus_special;
    }
    sum_products(sums, opened.sources,
                 tables.down_factor + static_cast<std::size_t>(last_prime) * tables.special_limbs, at);
    const u64* const words = last.at(0, polynomial) + at.first;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const u64 z = mul_shoup(reduce_wide(sums[h], q), inverse, q.value);
      opened.y[h] = sub_reduced(words[At::offset(h)], z, q.value);
    }
    opened.wide = !in_doubles(q.value);
  }
};

/// The special limbs as they are, and of the last limb of the job P times the first two terms of a product added.
struct FromProduct {
  ConstArray values;
  ConstArray a, b;  // of that limb
  int last_limb = 0;

  struct Reader {
    const u64* values;
    const u64* product[4];  // x, y and z, w of x y + z w; or null
    u64 special;
    scheme::Modulus prime;
    template <int kHeld, class At>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const At& at) const {
      read_words(values, x, at);
      if (product[0] == nullptr) return;
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        const unsigned position = at.first + At::offset(h);
        Wide sum = static_cast<Wide>(product[0][position]) * product[1][position];
        if (product[2] != nullptr) sum += static_cast<Wide>(product[2][position]) * product[3][position];
        x[h] = reduce_wide(static_cast<Wide>(reduce_wide(sum, prime)) * special + x[h], prime);
      }
    }
  };
  __device__ __forceinline__ Reader open(const Tables& tables, int prime, int limb, int polynomial) const {
    Reader reader{values.at(limb, polynomial), {}, tables.special[prime], tables.primes[prime]};
    if (limb == last_limb) {
      reader.product[0] = a.at(0, 0);
      reader.product[1] = b.at(0, polynomial);
      if (polynomial == 1) {
        reader.product[2] = a.at(0, 1);
        reader.product[3] = b.at(0, 0);
      }
    }
    return reader;
  }
};

/// values = (values - z) / P + addend, canonical, in place; with last_inverse all of it divided by that prime.
struct IntoQuotient {
  Array values;
  ConstArray addend;
  int addend_polynomials = 0;
  unsigned exponent = 1;
  ConstArray factor;
  const Shoup* last_inverse = nullptr;  // [i] of a dropped limb

  struct Writer {
    u64* values;
    const u64* addend;      // or null
    const u64* product[4];  // x, y and z, w of x y + z w; or null
    Shoup last_inverse;     // 0 where nothing is dropped
    unsigned exponent;
    int log_n;
    scheme::Modulus prime;
    Shoup inverse;

    template <int kHeld, class At>
    __device__ __forceinline__ void drain(const u64 (&z)[kHeld], const At& at) const {
      const u64 q = prime.value;
      u64 x[kHeld];
      read_words(values, x, at);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = mul_shoup(x[h] + q - z[h], inverse, q);
      if (product[0] != nullptr) {
        add_products(x, at);
      } else if (addend != nullptr) {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) {
          const unsigned position = at.first + At::offset(h);
          const unsigned from = exponent == 1 ? position : gather_source(position, exponent, log_n);
          x[h] = add_reduced(x[h], addend[from], q);
        }
      }
      if (last_inverse.value != 0) {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) x[h] = mul_shoup(x[h], last_inverse, q);
      }
      write_words(values, x, at);
    }
    // Sums stay below 3 2^122.
    template <int kHeld, class At>
    __device__ __forceinline__ void add_products(u64 (&x)[kHeld], const At& at) const {
      Wide sums[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) sums[h] = x[h];
#pragma unroll
      for (int pair = 0; pair < 4; pair += 2) {
        if (product[pair] == nullptr) continue;
        u64 a[kHeld], b[kHeld];
        read_words(product[pair], a, at);
        read_words(product[pair + 1], b, at);
#pragma unroll
        for (int h = 0; h < kHeld; ++h) sums[h] += static_cast<Wide>(a[h]) * b[h];
      }
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_wide(sums[h], prime);
    }
  };
  __device__ __forceinline__ Writer open(const Tables& tables, int prime, int limb, int polynomial) const {
    Writer writer{values.at(limb, polynomial),
                  polynomial < addend_polynomials ? addend.at(limb, polynomial) : nullptr,
                  {},
                  last_inverse == nullptr ? Shoup{} : last_inverse[prime - tables.special_limbs],
                  exponent,
                  tables.log_n,
                  tables.primes[prime],
                  tables.special_inverse[prime]};
    if (factor.data != nullptr) {
      writer.product[0] = addend.at(limb, 0);
      writer.product[1] = factor.at(limb, polynomial);
      if (polynomial == 1) {
        writer.product[2] = addend.at(limb, 1);
        writer.product[3] = factor.at(limb, 0);
      }
    }
    return writer;
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
    template <int kHeld, class At>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const At& at) const {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = reduce_word(last[at.first + At::offset(h)], prime) + minus_half;
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
    template <int kHeld, class At>
    __device__ __forceinline__ void drain(const u64 (&z)[kHeld], const At& at) const {
      u64 x[kHeld];
      read_words(in, x, at);
      if (multiplier != 1) {
#pragma unroll
        for (int h = 0; h < kHeld; ++h) x[h] = mul_barrett(x[h], multiplier, prime);
      }
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = mul_shoup(x[h] + prime.value - z[h], inverse, prime.value);
      write_words(out, x, at);
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

void mod_down(const Tables& tables, ConstView special, View values, const Addend& addend, View tile,
              cudaStream_t stream) {
  const Job job{values.first_prime, values.limbs, values.polynomials, 0, 0};
  const Array middle = array(tile);
  run_conversion("mod down columns", tables, job, FromSpecial<false>{array(special)}, middle, stream);
  const IntoQuotient into{array(values), array(addend.values),
                          addend.values.data == nullptr ? 0 : addend.values.polynomials, addend.exponent,
                          array(addend.factor)};
  run_pass<false, true>("mod down rows", tables, job, Plain{read_only(middle)}, into, stream);
}

void divide_product(const Tables& tables, View special, View values, View last, const Affine& end, u64 half,
                    ConstView a, ConstView b, View tile, cudaStream_t stream) {
  const int k = special.limbs, kept = values.limbs;
  Job dropped{0, k + 1, 2, 0, 0};
  dropped.last_prime = last.first_prime;
  const Array words = array(special);
  run_pass<false, false>(
      "divide rows", tables, dropped,
      FromProduct{read_only(words), array(a.limb_range(kept, 1)), array(b.limb_range(kept, 1)), k},
      Stored{words}, stream);
  Ends ends;
  ends.whole = tables.end_down;
  ends.partial_from = k;
  ends.one = end;
  inverse_columns(tables, dropped, words, ends, stream);

  const Job job{values.first_prime, kept, 2, 0, 0};
  const Array middle = array(tile);
  run_conversion("divide columns", tables, job,
                 FromSpecial<true>{array(ConstView(special)), array(ConstView(last)), last.first_prime, half},
                 middle, stream);
  const auto dropped_limb = static_cast<std::size_t>(last.first_prime - tables.special_limbs);
  const IntoQuotient into{
      array(values), array(a), 2, 1, array(b), tables.last_inverse + dropped_limb * tables.q_limbs};
  run_pass<false, true>("divide rows", tables, job, Plain{read_only(middle)}, into, stream);
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
