#include <algorithm>
#include <vector>

#include "ring/cuda/array.hpp"
#include "ring/cuda/gather.hpp"
#include "ring/cuda/launch.cuh"
#include "ring/cuda/operations.hpp"

// Operations that see one position at a time. A thread has two neighbouring residues, in one 16-byte access each;
// block row y is limb y / polynomials, polynomial y % polynomials. Residues are canonical, before and after. Where
// out is the same array as an input, a thread reads what it writes before it writes it.
namespace fheres::ring::cuda {
namespace {

constexpr int kThreads = 256;

struct Pair {
  u64 x[2];
};

__device__ __forceinline__ Pair read(const u64* from, unsigned position) {
  const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(from + position);
  return {{pair.x, pair.y}};
}
__device__ __forceinline__ void write(u64* to, unsigned position, const Pair& pair) {
  *reinterpret_cast<ulonglong2*>(to + position) = make_ulonglong2(pair.x[0], pair.x[1]);
}
__device__ __forceinline__ unsigned own_position() { return 2 * (blockIdx.x * kThreads + threadIdx.x); }

dim3 grid(const Tables& tables, int rows) { return grid_of((1 << tables.log_n) / (2 * kThreads), rows); }

template <Pointwise kOperation>
__global__ void __launch_bounds__(kThreads)
    pointwise_kernel(const Tables tables, const int first_prime, const int polynomials, const ConstArray a,
                     const ConstArray b, const int b_polynomials, const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned position = own_position();
  const scheme::Modulus q = tables.primes[first_prime + limb];
  Pair x = read(a.at(limb, polynomial), position);
  u64* const to = out.at(limb, polynomial);
  if constexpr (kOperation == Pointwise::add || kOperation == Pointwise::subtract) {
    if (polynomial < b_polynomials) {
      const Pair y = read(b.at(limb, polynomial), position);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        x.x[h] = kOperation == Pointwise::add ? add_reduced(x.x[h], y.x[h], q.value)
                                              : sub_reduced(x.x[h], y.x[h], q.value);
      }
    }
  } else if constexpr (kOperation == Pointwise::negate) {
#pragma unroll
    for (int h = 0; h < 2; ++h) x.x[h] = x.x[h] == 0 ? 0 : q.value - x.x[h];
  } else if constexpr (kOperation == Pointwise::multiply || kOperation == Pointwise::multiply_add) {
    const Pair y = read(b.at(limb, b_polynomials == 1 ? 0 : polynomial), position);
    Pair z{};
    if constexpr (kOperation == Pointwise::multiply_add) z = read(to, position);
#pragma unroll
    for (int h = 0; h < 2; ++h) x.x[h] = reduce_wide(static_cast<Wide>(x.x[h]) * y.x[h] + z.x[h], q);
  }
  write(to, position, x);
}

/// out = a scalar mod q. The quotient of the scalar is worked out once a block.
__global__ void __launch_bounds__(kThreads)
    multiply_scalar_kernel(const Tables tables, const int first_prime, const int polynomials,
                           const ConstArray a, const SignedWide scalar, const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned position = own_position();
  const scheme::Modulus q = tables.primes[first_prime + limb];
  const u64 factor = reduce_signed(scalar, q);
  Pair x = read(a.at(limb, polynomial), position);
#pragma unroll
  for (int h = 0; h < 2; ++h) x.x[h] = mul_barrett(x.x[h], factor, q);
  write(out.at(limb, polynomial), position, x);
}

/// out = a, and scalar mod q more in every residue of polynomial 0.
__global__ void __launch_bounds__(kThreads)
    add_scalar_kernel(const Tables tables, const int first_prime, const int polynomials, const ConstArray a,
                      const SignedWide scalar, const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned position = own_position();
  const scheme::Modulus q = tables.primes[first_prime + limb];
  const u64 constant = polynomial == 0 ? reduce_signed(scalar, q) : 0;
  Pair x = read(a.at(limb, polynomial), position);
#pragma unroll
  for (int h = 0; h < 2; ++h) x.x[h] = add_reduced(x.x[h], constant, q.value);
  write(out.at(limb, polynomial), position, x);
}

/// (a0 b0, a0 b1 + a1 b0, a1 b1), or with kAccumulate the first two added to out. Sums below 3 2^122 are exact.
template <bool kAccumulate>
__global__ void __launch_bounds__(kThreads)
    tensor_kernel(const Tables tables, const int first_prime, const ConstArray a, const ConstArray b,
                  const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y);
  const unsigned position = own_position();
  const scheme::Modulus q = tables.primes[first_prime + limb];
  const Pair a0 = read(a.at(limb, 0), position), a1 = read(a.at(limb, 1), position);
  const Pair b0 = read(b.at(limb, 0), position), b1 = read(b.at(limb, 1), position);
  Pair c0{}, c1{};
  if constexpr (kAccumulate) {
    c0 = read(out.at(limb, 0), position);
    c1 = read(out.at(limb, 1), position);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    c0.x[h] = reduce_wide(static_cast<Wide>(a0.x[h]) * b0.x[h] + c0.x[h], q);
    c1.x[h] =
        reduce_wide(static_cast<Wide>(a0.x[h]) * b1.x[h] + static_cast<Wide>(a1.x[h]) * b0.x[h] + c1.x[h], q);
  }
  write(out.at(limb, 0), position, c0);
  write(out.at(limb, 1), position, c1);
  if constexpr (!kAccumulate) {
    Pair c2{};
#pragma unroll
    for (int h = 0; h < 2; ++h) c2.x[h] = mul_barrett(a1.x[h], b1.x[h], q);
    write(out.at(limb, 2), position, c2);
  }
}

/// Signed words to residues: |x| mod q, negated where x < 0.
__global__ void __launch_bounds__(kThreads) lift_kernel(const Tables tables, const int first_prime,
                                                        const std::int64_t* coefficients, const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y);
  const unsigned position = own_position();
  const scheme::Modulus q = tables.primes[first_prime + limb];
  const longlong2 pair = *reinterpret_cast<const longlong2*>(coefficients + position);
  const std::int64_t words[2] = {pair.x, pair.y};
  Pair x{};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const bool negative = words[h] < 0;
    const u64 magnitude = negative ? u64{0} - static_cast<u64>(words[h]) : static_cast<u64>(words[h]);
    const u64 residue = reduce_word(magnitude, q);
    x.x[h] = negative && residue != 0 ? q.value - residue : residue;
  }
  write(out.at(limb, 0), position, x);
}

/// out[i] = in[source(i)]: writes are neighbours, reads are scattered in one limb, two at a time.
__global__ void __launch_bounds__(kThreads)
    automorphism_kernel(const int log_n, const int polynomials, const ConstArray in, const unsigned exponent,
                        const Array out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned position = own_position();
  const WordPair x = PairSource(position, exponent, log_n).read(in.at(limb, polynomial));
  write(out.at(limb, polynomial), position, {{x.first, x.second}});
}

constexpr int kMostTerms = 32;  // of one launch: their products and a residue are below 2^128
constexpr int kSumThreads = 128;

/// A term of a sum in the limbs that it covers.
struct TermArray {
  const u64* a;
  const u64* b;
  std::size_t a_limb_stride, a_polynomial_stride, b_limb_stride;
};
/// Some terms: first `whole` of them, which cover all limbs, then those that cover limbs from `first_limb` on.
struct TermArrays {
  TermArray terms[kMostTerms] = {};
  int count = 0;
  int whole = 0;
  int first_limb = 0;
  int no_padding = 0;  // launch
};

/// The sum of a b over the terms, for two polynomials of a and one of b; with kAccumulate, and what is in out. Sums below
/// 33 2^122 are exact.
template <bool kAccumulate>
__global__ void __launch_bounds__(kSumThreads)
    sum_products_kernel(const Tables tables, const int first_prime, const __grid_constant__ TermArrays terms,
                        const Products out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y);
  const unsigned position = 2 * (blockIdx.x * kSumThreads + threadIdx.x);
  const scheme::Modulus q = tables.primes[first_prime + limb];
  u64* const to[2] = {out.at(limb, 0), out.at(limb, 1)};
  Wide sum[2][2] = {{0, 0}, {0, 0}};
  if constexpr (kAccumulate) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const Pair held = read(to[c], position);
      sum[c][0] = held.x[0];
      sum[c][1] = held.x[1];
    }
  }
  const int count = limb < terms.first_limb ? terms.whole : terms.count;
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const TermArray& term = terms.terms[i];
    const int at = i < terms.whole ? limb : limb - terms.first_limb;
    const u64* const a = term.a + static_cast<std::size_t>(at) * term.a_limb_stride;
    const Pair y = read(term.b + static_cast<std::size_t>(at) * term.b_limb_stride, position);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const Pair x = read(c == 0 ? a : a + term.a_polynomial_stride, position);
      sum[c][0] += static_cast<Wide>(x.x[0]) * y.x[0];
      sum[c][1] += static_cast<Wide>(x.x[1]) * y.x[1];
    }
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    write(to[c], position, {{reduce_wide(sum[c][0], q), reduce_wide(sum[c][1], q)}});
  }
}

/// out = a + b[source(i)], or with kAccumulate that and what is in out. b covers limbs from b_first_limb on.
template <bool kAccumulate>
__global__ void __launch_bounds__(kThreads)
    add_turned_kernel(const Tables tables, const int first_prime, const int polynomials, const ConstArray a,
                      const ConstArray b, const int b_first_limb, const int b_polynomials,
                      const unsigned exponent, const Products out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned position = own_position();
  const u64 q = tables.primes[first_prime + limb].value;
  Pair x = read(a.at(limb, polynomial), position);
  u64* const to = out.at(limb, polynomial);
  if constexpr (kAccumulate) {
    const Pair held = read(to, position);
#pragma unroll
    for (int h = 0; h < 2; ++h) x.x[h] = add_reduced(x.x[h], held.x[h], q);
  }
  if (limb >= b_first_limb && polynomial < b_polynomials) {
    const WordPair y =
        PairSource(position, exponent, tables.log_n).read(b.at(limb - b_first_limb, polynomial));
    x.x[0] = add_reduced(x.x[0], y.first, q);
    x.x[1] = add_reduced(x.x[1], y.second, q);
  }
  write(to, position, x);
}

template <Pointwise kOperation>
void launch_pointwise(const char* name, const Tables& tables, ConstView a, ConstView b, View out,
                      cudaStream_t stream) {
  launch(name, pointwise_kernel<kOperation>, grid(tables, out.limbs * out.polynomials), kThreads, stream,
         tables, out.first_prime, out.polynomials, array(a), array(b), b.polynomials, array(out));
}

}  // namespace

void pointwise(const Tables& tables, Pointwise operation, ConstView a, ConstView b, View out,
               cudaStream_t stream) {
  switch (operation) {
    case Pointwise::add:
      return launch_pointwise<Pointwise::add>("add", tables, a, b, out, stream);
    case Pointwise::subtract:
      return launch_pointwise<Pointwise::subtract>("subtract", tables, a, b, out, stream);
    case Pointwise::negate:
      return launch_pointwise<Pointwise::negate>("negate", tables, a, b, out, stream);
    case Pointwise::multiply:
      return launch_pointwise<Pointwise::multiply>("multiply", tables, a, b, out, stream);
    case Pointwise::multiply_add:
      return launch_pointwise<Pointwise::multiply_add>("multiply add", tables, a, b, out, stream);
    case Pointwise::copy:
      return launch_pointwise<Pointwise::copy>("copy", tables, a, b, out, stream);
  }
}

void multiply_scalar(const Tables& tables, ConstView a, SignedWide scalar, View out, cudaStream_t stream) {
  launch("multiply scalar", multiply_scalar_kernel, grid(tables, out.limbs * out.polynomials), kThreads,
         stream, tables, out.first_prime, out.polynomials, array(a), scalar, array(out));
}

void add_scalar(const Tables& tables, ConstView a, SignedWide scalar, View out, cudaStream_t stream) {
  launch("add scalar", add_scalar_kernel, grid(tables, out.limbs * out.polynomials), kThreads, stream, tables,
         out.first_prime, out.polynomials, array(a), scalar, array(out));
}

void tensor(const Tables& tables, ConstView a, ConstView b, bool accumulate, View out, cudaStream_t stream) {
  launch("tensor", accumulate ? tensor_kernel<true> : tensor_kernel<false>, grid(tables, out.limbs), kThreads,
         stream, tables, out.first_prime, array(a), array(b), array(out));
}

void lift(const Tables& tables, const std::int64_t* coefficients, View out, cudaStream_t stream) {
  launch("lift", lift_kernel, grid(tables, out.limbs), kThreads, stream, tables, out.first_prime,
         coefficients, array(out));
}

void automorphism(const Tables& tables, ConstView in, std::uint32_t exponent, View out, cudaStream_t stream) {
  launch("automorphism", automorphism_kernel, grid(tables, out.limbs * out.polynomials), kThreads, stream,
         tables.log_n, out.polynomials, array(in), exponent, array(out));
}

void sum_products(const Tables& tables, std::span<const Term> terms, int first_prime, int limbs,
                  const Products& out, cudaStream_t stream) {
  std::vector<Term> ordered(terms.begin(), terms.end());
  const auto covers_all = [limbs](const Term& term) { return term.a.limbs == limbs; };
  std::stable_partition(ordered.begin(), ordered.end(), covers_all);
  const dim3 blocks = grid_of((1 << tables.log_n) / (2 * kSumThreads), limbs);
  for (std::size_t first = 0; first < ordered.size(); first += kMostTerms) {
    TermArrays some;
    for (std::size_t i = first; i < std::min(ordered.size(), first + kMostTerms); ++i) {
      const auto& [a, b] = ordered[i];
      some.terms[some.count++] = {a.data, b.data, a.limb_stride, a.polynomial_stride, b.limb_stride};
      if (covers_all(ordered[i])) {
        ++some.whole;
      } else {
        some.first_limb = limbs - a.limbs;
      }
    }
    launch("sum products", first == 0 ? sum_products_kernel<false> : sum_products_kernel<true>, blocks,
           kSumThreads, stream, tables, first_prime, some, out);
  }
}

void add_turned(const Tables& tables, ConstView a, ConstView b, std::uint32_t exponent, bool accumulate,
                const Products& out, cudaStream_t stream) {
  launch("add turned", accumulate ? add_turned_kernel<true> : add_turned_kernel<false>,
         grid(tables, a.limbs * a.polynomials), kThreads, stream, tables, a.first_prime, a.polynomials,
         array(a), array(b), a.limbs - b.limbs, b.polynomials, exponent, out);
}

}  // namespace fheres::ring::cuda
