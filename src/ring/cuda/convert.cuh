#pragma once

#include <algorithm>

#include "ring/cuda/double_sums.hpp"
#include "ring/cuda/pass.cuh"

// Base conversion on the way into a forward transform: sums over the limbs of a source, for one prime after the other.
namespace fheres::ring::cuda {

/// Residues of several primes that are converted together, as rows of words in [0, p_i). A thread reads the same ones for
/// prime after prime, so it may keep those of the first limbs in shared memory, in places of its own: as doubles where the
/// prime is small enough, else as they are.
struct Sources {
  const u64* first;  // of the first limb
  std::size_t limb_stride;
  int limbs;
  int first_prime;  // their primes' index
  unsigned wide;    // bit i: the prime of limb i is too large for doubles
  const u64* kept = nullptr;
  int kept_limbs = 0;

  __device__ __forceinline__ Sources(const u64* words, std::size_t stride, int count, int prime,
                                     const scheme::Modulus* primes)
      : first(words), limb_stride(stride), limbs(count), first_prime(prime), wide(0) {
    for (int i = 0; i < limbs; ++i) {
      if (!in_doubles(primes[first_prime + i].value)) wide |= 1U << i;
    }
  }

  __device__ __forceinline__ bool is_wide(int limb) const { return (wide >> limb & 1) != 0; }
  template <class At>
  __device__ __forceinline__ static constexpr int place(int limb, int h) {
    return (limb * At::kHeld + h) * At::kThreads;
  }
  /// Keeps the words of at most `most` limbs, each At::kHeld words a thread of `storage`.
  template <class At>
  __device__ __forceinline__ void keep(u64* storage, int most, const At& at) {
    kept_limbs = min(limbs, most);
    u64* const own = storage + threadIdx.x;
    const u64* words = first + at.first;
#pragma unroll 2
    for (int i = 0; i < kept_limbs; ++i, words += limb_stride) {
#pragma unroll
      for (int h = 0; h < At::kHeld; ++h) {
        const u64 word = words[At::offset(h)];
        own[place<At>(i, h)] = is_wide(i) ? word : DoubleField::store(DoubleField::from_residue(word));
      }
    }
    kept = own;
  }
  /// Words of one limb.
  template <int kHeld, class At>
  __device__ __forceinline__ void read(int limb, u64 (&words)[kHeld], const At& at) const {
    if (limb >= kept_limbs) {
      const u64* const from = first + static_cast<std::size_t>(limb) * limb_stride + at.first;
#pragma unroll
      for (int h = 0; h < kHeld; ++h) words[h] = from[At::offset(h)];
      return;
    }
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const u64 bits = kept[place<At>(limb, h)];
      words[h] = is_wide(limb) ? bits : DoubleField::to_word(DoubleField::load(bits));
    }
  }
};

/// Adds all sources' products. Factors begin at the first source's.
template <int kHeld, class At>
__device__ __forceinline__ void sum_products(DoubleSums<kHeld>& sums, const Sources& sources,
                                             const Factor* factors, const At& at) {
  if (sources.wide == 0) {
    int i = 0;
#pragma unroll 2
    for (; i < sources.kept_limbs; ++i) {
      const double factor = factors[i].low;
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sums.add(h, DoubleField::load(sources.kept[Sources::place<At>(i, h)]), factor);
      }
    }
    const u64* words = sources.first + static_cast<std::size_t>(i) * sources.limb_stride + at.first;
#pragma unroll 2
    for (; i < sources.limbs; ++i, words += sources.limb_stride) {
      const double factor = factors[i].low;
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        sums.add(h, DoubleField::from_residue(words[At::offset(h)]), factor);
      }
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i) {
    const Factor factor = factors[i];
    const bool wide = sources.is_wide(i);
    const u64 low = wide ? (u64{1} << 30) - 1 : ~u64{0};
    u64 word[kHeld];
    sources.read(i, word, at);
#pragma unroll
    for (int h = 0; h < kHeld; ++h) sums.add(h, DoubleField::from_residue(word[h] & low), factor.low);
    if (!wide) continue;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) sums.add(h, DoubleField::from_residue(word[h] >> 30), factor.high);
  }
}

/// The same sums to any prime: exact in 128 bits, to be reduced once.
template <int kHeld, class At>
__device__ __forceinline__ void sum_products(Wide (&sum)[kHeld], const Sources& sources, const u64* factors,
                                             const At& at) {
#pragma unroll 1
  for (int i = 0; i < sources.limbs; ++i) {
    const u64 factor = factors[i];
    u64 word[kHeld];
    sources.read(i, word, at);
#pragma unroll
    for (int h = 0; h < kHeld; ++h) sum[h] += static_cast<Wide>(word[h]) * factor;
  }
}

/// How the limbs of a job are dealt to blocks: a block converts its columns of one polynomial to so many primes, and
/// all blocks together are enough to keep a large device busy to the end.
inline int conversion_depth(const Job& job, int tiles) {
  constexpr int kBlocks = 1056;
  const int chunks = (kBlocks + tiles * job.polynomials - 1) / (tiles * job.polynomials);
  return (job.limbs + chunks - 1) / chunks;
}

/// Warps that a multiprocessor has room for: with more, registers spill; with fewer, nothing hides the latency.
inline constexpr int kConvertWarps = 16;

/// Words of shared memory beside those that are kept.
template <class P>
inline constexpr int kConvertWords = P::kWords + 2 * Near<P, true>::kWords;

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
/// and then gives a reader for each prime.
///
/// While a prime is worked on, the roots of the next one come near.
template <class P, class In>
__global__ void __launch_bounds__(P::kThreads, kConvertWarps * 32 / P::kThreads)
    convert_pass(const Tables tables, const Job job, const In in, const Array out, const int depth,
                 const int kept_limbs) {
  extern __shared__ __align__(16) u64 shared[];
  const ConvertRun run(job, depth);
  Near<P, true> near(tables, run.prime(job, run.first), shared + P::kWords);
  begin_kernel();
  const PointsIn<P, true> at;
  auto source = in.open(tables, run.polynomial, at);
  source.sources.keep(shared + kConvertWords<P>, kept_limbs, at);
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

/// How many limbs' words the blocks of a conversion keep, of `limbs`: as many as leave room for kConvertWarps, and none
/// where a block has one prime only.
template <class P>
int kept_limbs(const Tables& tables, int limbs, int depth) {
  constexpr int kBlocks = std::max(1, kConvertWarps * 32 / P::kThreads);
  constexpr int kReserved = 1024;  // of each block, by the vendor
  constexpr int kLimb = P::kHeld * P::kThreads * static_cast<int>(sizeof(u64));
  const int room =
      tables.shared_bytes / kBlocks - kReserved - kConvertWords<P> * static_cast<int>(sizeof(u64));
  return depth == 1 ? 0 : std::clamp(room / kLimb, 0, limbs);
}

template <class In>
void run_conversion(const char* name, const Tables& tables, const Job& job, const In& in, const Array& out,
                    cudaStream_t stream) {
  at_pass<true>(tables.log_n, [&]<class P>() {
    const int depth = conversion_depth(job, P::kTiles);
    const int chunks = (job.limbs + depth - 1) / depth;
    const int kept = kept_limbs<P>(tables, in.most_limbs(tables), depth);
    const int words = kConvertWords<P> + kept * P::kHeld * P::kThreads;
    launch(name, convert_pass<P, In>, grid_of(P::kTiles, job.polynomials * chunks),
           {P::kThreads, words * static_cast<int>(sizeof(u64))}, stream, tables, job, in, out, depth, kept);
  });
}

}  // namespace fheres::ring::cuda
