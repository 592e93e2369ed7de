#pragma once

#include "ring/cuda/pass.cuh"

// Base conversion on the way into a forward transform: sums over the limbs of a source, for one prime after the other.
namespace fheres::ring::cuda {

/// Primes in doubles are converted to in pairs: each word that is read serves both. `kSummed` points at a time, fewer
/// than a thread holds, for the sake of registers.
inline constexpr int kTargets = 2;
inline constexpr int kSummed = 8;

/// Residues of several primes that are converted together, as rows of words in [0, p_i).
struct Sources {
  const u64* first;  // of the first limb
  std::size_t limb_stride;
  int limbs;
  int first_prime;  // their primes' index
  unsigned wide;    // bit i: the prime of limb i is too large for doubles

  __device__ __forceinline__ Sources(const u64* words, std::size_t stride, int count, int prime,
                                     const scheme::Modulus* primes)
      : first(words), limb_stride(stride), limbs(count), first_prime(prime), wide(0) {
    for (int i = 0; i < limbs; ++i) {
      if (!in_doubles(primes[first_prime + i].value)) wide |= 1U << i;
    }
  }
};

/// Source i times factor i, summed: to a prime in doubles.
///
/// The sum is kept as high + low with high a multiple of 2^kSumBits. `high` starts at 1.5 2^(52 + kSumBits), so that
/// adding a product there rounds it to such a multiple, and what rounding leaves out, at most 2^(kSumBits - 1), is found
/// exactly by two more operations (the splitting of Dekker). Words are below 2^46 or in pieces of 30 bits, factors
/// at most 2^45, so up to 32 limbs stay below 2^(51 + kSumBits) and `low` below 2^50.
class DoubleSum {
 public:
  __device__ __forceinline__ void start(double low) {
    high_ = kStart;
    low_ = low;
  }
  __device__ __forceinline__ void add(double y, double w) {
    const double high = DoubleField::fused(y, w, high_);
    low_ = DoubleField::plus(low_, DoubleField::fused(y, w, DoubleField::plus(high_, -high)));
    high_ = high;
  }
  /// An integer y w below 2^50.
  __device__ __forceinline__ void add_small(double y, double w) { low_ = DoubleField::fused(y, w, low_); }
  /// Modulo q, within 3q/2 + 1.
  __device__ __forceinline__ double end(const DoubleField& field, double unit) const {
    return DoubleField::plus(field.multiply(DoubleField::plus(high_, -kStart), unit), field.settle(low_));
  }

 private:
  static constexpr double kStart = 1.5 * DoubleField::kTwo52 * static_cast<double>(u64{1} << kSumBits);
  double high_, low_;
};
using DoubleSums = DoubleSum[kTargets][kSummed];

/// Adds all sources' products at points kFirst and on. Factors begin at the first source's, for the second target
/// `stride` further.
template <int kFirst, class At>
__device__ __forceinline__ void sum_products(DoubleSums& sums, const Sources& sources, const Factor* factors,
                                             std::size_t stride, const At& at) {
  const u64* words = sources.first + at.first;
  if (sources.wide == 0) {
#pragma unroll 2
    for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
      const double factor[kTargets] = {factors[i].low, factors[stride + i].low};
#pragma unroll
      for (int h = 0; h < kSummed; ++h) {
        const double y = DoubleField::from_residue(words[At::offset(kFirst + h)]);
#pragma unroll
        for (int t = 0; t < kTargets; ++t) sums[t][h].add(y, factor[t]);
      }
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
    const Factor factor[kTargets] = {factors[i], factors[stride + i]};
    const bool wide = (sources.wide >> i & 1) != 0;
    const u64 low = wide ? (u64{1} << 30) - 1 : ~u64{0};
    u64 word[kSummed];
#pragma unroll
    for (int h = 0; h < kSummed; ++h) {
      word[h] = words[At::offset(kFirst + h)];
      const double y = DoubleField::from_residue(word[h] & low);
#pragma unroll
      for (int t = 0; t < kTargets; ++t) sums[t][h].add(y, factor[t].low);
    }
    if (!wide) continue;
#pragma unroll
    for (int h = 0; h < kSummed; ++h) {
      const double y = DoubleField::from_residue(word[h] >> 30);
#pragma unroll
      for (int t = 0; t < kTargets; ++t) sums[t][h].add(y, factor[t].high);
    }
  }
}

/// The same sums to any one prime: exact in 128 bits, reduced once.
template <int kFirst, class At>
__device__ __forceinline__ void sum_products(Wide (&sum)[kSummed], const Sources& sources, const u64* factors,
                                             const At& at) {
  const u64* words = sources.first + at.first;
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
    const u64 factor = factors[i];
#pragma unroll
    for (int h = 0; h < kSummed; ++h) sum[h] += static_cast<Wide>(words[At::offset(kFirst + h)]) * factor;
  }
}

/// Calls body.template operator()<first>() for the points first to first + kSummed - 1, and so on to the last.
template <int kHeld, int kFirst = 0, class Body>
__device__ __forceinline__ void in_parts(const Body& body) {
  static_assert(kHeld % kSummed == 0);
  body.template operator()<kFirst>();
  if constexpr (kFirst + kSummed < kHeld) in_parts<kHeld, kFirst + kSummed>(body);
}

/// How the limbs of a job are dealt to blocks: a block converts its columns of one polynomial to `depth` primes.
inline int conversion_depth(const Job& job, int tiles) {
  constexpr int kBlocks = 132 * 8;
  const int chunks = (kBlocks + tiles * job.polynomials - 1) / (tiles * job.polynomials);
  return (job.limbs + chunks - 1) / chunks;
}

/// Converted numbers of both targets, each thread's in places of its own of shared memory.
template <class P>
struct Converted {
  u64* words;  // [target][point][thread]
  static constexpr int kWords = kTargets * P::kHeld * P::kThreads;
  __device__ __forceinline__ u64& at(int target, int h) const {
    return words[(target * P::kHeld + h) * P::kThreads + threadIdx.x];
  }

  struct Reader {
    Converted from;
    int target;
    template <int kHeld, class At>
    __device__ __forceinline__ void numbers(double (&x)[kHeld], const At&, const DoubleField&) const {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = DoubleField::load(from.at(target, h));
    }
  };
};

/// Warps that a multiprocessor has room for.
inline constexpr int kConvertWarps = 12;

/// The first pass of a forward transform of converted residues. `In` is opened for the thread's points of a polynomial;
/// what it gives has
///   sum<kFirst>(sums, tables, prime, stride)   the sums to `prime`, and to the prime `stride` further
///   numbers(x, at, field) of reader(tables, prime), for a prime that is not in doubles
template <class P, class In>
__global__ void __launch_bounds__(P::kThreads, kConvertWarps * 32 / P::kThreads)
    convert_pass(const Tables tables, const Job job, const In in, const Array out, const int depth) {
  begin_kernel();
  extern __shared__ u64 shared[];
  const Converted<P> converted{shared + P::kWords};
  const int polynomial = static_cast<int>(blockIdx.y) % job.polynomials;
  int limb = static_cast<int>(blockIdx.y) / job.polynomials * depth;
  const int end = min(limb + depth, job.limbs);
  const PointsIn<P, true> at;
  const auto source = in.open(tables, polynomial, at);
  const auto wanted = [&](int candidate) {
    const int prime = job.first_prime + candidate;
    return candidate < end && !job.skips(prime, polynomial) && in_doubles(tables.primes[prime].value);
  };
#pragma unroll 1
  while (limb < end) {
    const int prime = job.first_prime + limb;
    if (job.skips(prime, polynomial)) {
      ++limb;
      continue;
    }
    if (!wanted(limb)) {
      run_round<P, true, 0>(source.reader(tables, prime), Stored::Writer{out.at(limb, polynomial)}, shared,
                            tables.forward + tables.root_at[prime], IntegerField(tables.primes[prime].value));
      __syncthreads();  // the next prime's round writes where others have read
      ++limb;
      continue;
    }
    const int targets = wanted(limb + 1) ? 2 : 1;
    in_parts<P::kHeld>([&]<int kFirst>() {
      DoubleSums sums;
      source.template sum<kFirst>(sums, tables, prime, targets - 1, at);
#pragma unroll
      for (int t = 0; t < kTargets; ++t) {
        const DoublePrime target = tables.doubles[prime + (t < targets ? t : 0)];
        const DoubleField field(target.q, target.inverse);
#pragma unroll
        for (int h = 0; h < kSummed; ++h) {
          converted.at(t, kFirst + h) = DoubleField::store(sums[t][h].end(field, target.sum_unit));
        }
      }
    });
#pragma unroll 1
    for (int t = 0; t < targets; ++t, ++limb) {
      const int target = job.first_prime + limb;
      run_round<P, true, 0>(typename Converted<P>::Reader{converted, t},
                            Stored::Writer{out.at(limb, polynomial)}, shared,
                            tables.forward + tables.root_at[target], double_field(tables, target));
      __syncthreads();
    }
  }
}

template <class In>
void run_conversion(const char* name, const Tables& tables, const Job& job, const In& in, const Array& out,
                    cudaStream_t stream) {
  at_pass<true>(tables.log_n, [&]<class P>() {
    const int depth = conversion_depth(job, P::kTiles);
    const int chunks = (job.limbs + depth - 1) / depth;
    const int words = P::kWords + Converted<P>::kWords;
    launch(name, convert_pass<P, In>, grid_of(P::kTiles, job.polynomials * chunks),
           {P::kThreads, words * static_cast<int>(sizeof(u64))}, stream, tables, job, in, out, depth);
  });
}

}  // namespace fheres::ring::cuda
