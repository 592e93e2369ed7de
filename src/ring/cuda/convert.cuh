#pragma once

#include "ring/cuda/double_sums.hpp"
#include "ring/cuda/pass.cuh"

// Base conversion on the way into a forward transform: sums over the limbs of a source, for one prime after the other.
namespace fheres::ring::cuda {

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

/// Adds all sources' products. Factors begin at the first source's.
template <int kHeld, class At>
__device__ __forceinline__ void sum_products(DoubleSums<kHeld>& sums, const Sources& sources,
                                             const Factor* factors, const At& at) {
  const u64* words = sources.first + at.first;
  if (sources.wide == 0) {
#pragma unroll 2
    for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
      const double factor = factors[i].low;
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sums.add(h, DoubleField::from_residue(words[At::offset(h)]), factor);
      }
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
    const Factor factor = factors[i];
    const bool wide = (sources.wide >> i & 1) != 0;
    const u64 low = wide ? (u64{1} << 30) - 1 : ~u64{0};
    u64 word[kHeld];
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      word[h] = words[At::offset(h)];
      sums.add(h, DoubleField::from_residue(word[h] & low), factor.low);
    }
    if (!wide) continue;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) sums.add(h, DoubleField::from_residue(word[h] >> 30), factor.high);
  }
}

/// The same sums to any prime: exact in 128 bits, to be reduced once.
template <int kHeld, class At>
__device__ __forceinline__ void sum_products(Wide (&sum)[kHeld], const Sources& sources, const u64* factors,
                                             const At& at) {
  const u64* words = sources.first + at.first;
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i, words += sources.limb_stride) {
    const u64 factor = factors[i];
#pragma unroll
    for (int h = 0; h < kHeld; ++h) sum[h] += static_cast<Wide>(words[At::offset(h)]) * factor;
  }
}

/// Warps that a multiprocessor has room for: with more, registers spill; with fewer, nothing hides the latency.
inline constexpr int kConvertWarps = 16;

/// How the limbs of a job are dealt to blocks: a block opens its columns of one polynomial, which takes as long as
/// `opening` primes, and converts them to so many primes. Where opening is nothing, all blocks together are enough to keep
/// a large device busy to the end. Else few long blocks are better, in rounds of `slots`, as many as the device has room
/// for, of which the last one should be full.
inline int conversion_depth(const Job& job, int tiles, int slots, double opening) {
  if (opening == 0) {
    constexpr int kBlocks = 1056;
    const int chunks = (kBlocks + tiles * job.polynomials - 1) / (tiles * job.polynomials);
    return (job.limbs + chunks - 1) / chunks;
  }
  int best = job.limbs;
  double least = 0;
  for (int depth = job.limbs; depth >= 1; --depth) {
    const int chunks = (job.limbs + depth - 1) / depth;
    const int rounds = (tiles * job.polynomials * chunks + slots - 1) / slots;
    const double cost = rounds * (opening + depth);
    if (depth == job.limbs || cost < least) {
      least = cost;
      best = depth;
    }
  }
  return best;
}

/// The polynomial and the limbs of a block: those from `first` on that the job does not skip.
struct ConvertRun {
  int polynomial, first, end;

  __device__ __forceinline__ ConvertRun(const Job& job, int depth)
      : polynomial(static_cast<int>(blockIdx.y) % job.polynomials) {
    const int begin = static_cast<int>(blockIdx.y) / job.polynomials * depth;
    end = min(begin + depth, job.limbs);
    first = after(job, begin - 1);
  }
  __device__ __forceinline__ int after(const Job& job, int limb) const {
    do {
      ++limb;
    } while (limb < end && job.skips(job.first_prime + limb, polynomial));
    return limb;
  }
  /// Of a limb, or of the last one where there is none left.
  __device__ __forceinline__ int prime(const Job& job, int limb) const {
    return job.first_prime + min(limb, end - 1);
  }
};

/// The first pass of a forward transform of converted residues. `In` is opened for the thread's points of a polynomial,
/// which takes as long as In::kOpening primes, and then gives a reader for each prime.
///
/// While a prime is worked on, the roots of the next one come near.
template <class P, class In>
__global__ void __launch_bounds__(P::kThreads, kConvertWarps * 32 / P::kThreads)
    convert_pass(const Tables tables, const Job job, const In in, const Array out, const int depth) {
  __shared__ alignas(16) u64 shared[P::kWords + 2 * Near<P, true>::kWords];
  const ConvertRun run(job, depth);
  Near<P, true> near(tables, run.prime(job, run.first), shared + P::kWords);
  begin_kernel();
  const auto source = in.open(tables, run.polynomial, PointsIn<P, true>());
  int side = 0;
#pragma unroll 1
  for (int limb = run.first; limb < run.end;) {
    const int next = run.after(job, limb);
    side = Near<P, true>::kWords - side;
    const Near<P, true> coming(tables, run.prime(job, next), shared + P::kWords + side, next < run.end);
    run_rounds<P, true, 1>(source.reader(tables, run.prime(job, limb)),
                           Stored::Writer{out.at(limb, run.polynomial)}, shared, near);
    __syncthreads();  // the next prime's round writes where others have read
    near = coming;
    limb = next;
  }
}

template <class In>
void run_conversion(const char* name, const Tables& tables, const Job& job, const In& in, const Array& out,
                    cudaStream_t stream) {
  at_pass<true>(tables.log_n, [&]<class P>() {
    const int slots = tables.device.multiprocessors * (kConvertWarps * 32 / P::kThreads);
    const int depth = conversion_depth(job, P::kTiles, slots, In::kOpening);
    const int chunks = (job.limbs + depth - 1) / depth;
    launch(name, convert_pass<P, In>, grid_of(P::kTiles, job.polynomials * chunks), P::kThreads, stream,
           tables, job, in, out, depth);
  });
}

}  // namespace fheres::ring::cuda
