#pragma once

#include "ring/cuda/array.hpp"
#include "ring/cuda/launch.cuh"
#include "ring/cuda/near.cuh"
#include "ring/cuda/tables.hpp"
#include "ring/cuda/transform.hpp"

// The transform kernel. What a pass reads and writes is a type: `In` opens a reader for one polynomial of one limb,
// `Out` a writer, so that the work before and after a transform costs no pass of its own.
//
//   auto reader = in.open(tables, prime, limb, polynomial);   reader.fill(x, points);
//   auto writer = out.open(tables, prime, limb, polynomial);  writer.drain(x, points);
//
// Points say which residues x are. A reader that computes what it gives, and a writer that takes numbers as they are,
// have numbers(x, points, field) in the place of fill and drain, for either field.
namespace fheres::ring::cuda {

/// The residues that a thread reads or writes in global memory: index first + offset(h) below N.
template <class P, int kRound>
struct Points {
  static constexpr int kHeld = P::kHeld;
  unsigned first;

  __device__ __forceinline__ Points() {
    const int thread = static_cast<int>(threadIdx.x);
    const int line = static_cast<int>(blockIdx.x) * kWidth + P::member(thread);
    first = P::line_at(line) + P::point_at(Round<P, kRound>::first_outer(P::lane(thread)));
  }
  __device__ __forceinline__ static constexpr unsigned offset(int h) {
    return P::point_at(Round<P, kRound>::outer_further(h));
  }
};
/// What the first and the last round of a pass have to do with global memory.
template <class P, bool kForward>
using PointsIn = Points<P, kForward ? 0 : P::kRounds - 1>;
template <class P, bool kForward>
using PointsOut = Points<P, kForward ? P::kRounds - 1 : 0>;

/// Words of one limb.
template <int kHeld, class At>
__device__ __forceinline__ void read_words(const u64* limb, u64 (&x)[kHeld], const At& at) {
  const u64* const from = limb + at.first;
#pragma unroll
  for (int h = 0; h < kHeld; ++h) x[h] = from[At::offset(h)];
}
template <int kHeld, class At>
__device__ __forceinline__ void write_words(u64* limb, const u64 (&x)[kHeld], const At& at) {
  u64* const to = limb + at.first;
#pragma unroll
  for (int h = 0; h < kHeld; ++h) to[At::offset(h)] = x[h];
}

/// Reads what is there: residues, or what the first pass left.
struct Plain {
  ConstArray from;
  struct Reader {
    const u64* from;
    template <int kHeld, class At>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const At& at) const {
      read_words(from, x, at);
    }
  };
  __device__ __forceinline__ Reader open(const Tables&, int, int limb, int polynomial) const {
    return {from.at(limb, polynomial)};
  }
};

/// Writes what is to be written: what a first pass leaves, or canonical residues.
struct Stored {
  Array to;
  struct Writer {
    u64* to;
    template <int kHeld, class At>
    __device__ __forceinline__ void drain(const u64 (&x)[kHeld], const At& at) const {
      write_words(to, x, at);
    }
  };
  __device__ __forceinline__ Writer open(const Tables&, int, int limb, int polynomial) const {
    return {to.at(limb, polynomial)};
  }
};

/// Between rounds. A row is a matter of one warp.
template <class P>
__device__ __forceinline__ void change_hands() {
  if constexpr (P::kColumns) {
    __syncthreads();
  } else {
    static_assert(P::kLanes <= 32);
    __syncwarp();
  }
}

template <class P, bool kForward, int kRound, class Field, class Reader, class Writer, int kLeft>
__device__ __forceinline__ void run_round(const Reader& reader, const Writer& writer, u64* shared,
                                          const Roots<kLeft>& roots, const Field& field) {
  using R = Round<P, kRound>;
  constexpr bool kFirst = kRound == (kForward ? 0 : P::kRounds - 1);
  constexpr bool kLast = kRound == (kForward ? P::kRounds - 1 : 0);
  // What a reader gives the first pass, and a writer gets from the second, are residues; between the passes lie numbers.
  constexpr bool kResidues = P::kColumns == kForward;
  constexpr bool kTurnsIn = kFirst && R::kTurns, kTurnsOut = kLast && R::kTurns;
  constexpr int kHeld = P::kHeld;

  const int thread = static_cast<int>(threadIdx.x);
  const int member = P::member(thread), lane = P::lane(thread);
  u64* const own = shared + P::member_word(member) + P::point_word(R::first_point(lane));
  u64* const outer = shared + P::member_word(member) + P::point_word(R::first_outer(lane));

  using Number = typename Field::Number;
  Number x[kHeld];
  if constexpr (kFirst) {
    const Points<P, kRound> from;
    if constexpr (requires { reader.numbers(x, from, field); }) {
      reader.numbers(x, from, field);
    } else {
      u64 words[kHeld];
      reader.fill(words, from);
#pragma unroll
      for (int h = 0; h < kHeld; ++h)
        x[h] = kResidues ? Field::from_residue(words[h]) : Field::load(words[h]);
    }
  }
  if constexpr (kTurnsIn) {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) outer[P::point_word(R::outer_further(h))] = Field::store(x[h]);
  }
  if constexpr (!kFirst || kTurnsIn) {
    change_hands<P>();
#pragma unroll
    for (int h = 0; h < kHeld; ++h) x[h] = Field::load(own[P::point_word(R::further(h))]);
  }
  if constexpr (kFirst) roots.wait();
  transform_round<R, kForward>(x, lane, roots.base, roots.table, field);
  if constexpr (!kLast || kTurnsOut) {
    // A thread writes where it alone has read, so one barrier, before others read, is enough.
#pragma unroll
    for (int h = 0; h < kHeld; ++h) own[P::point_word(R::further(h))] = Field::store(x[h]);
  }
  if constexpr (!kLast) {
    run_round<P, kForward, kForward ? kRound + 1 : kRound - 1>(reader, writer, shared, roots, field);
  } else {
    if constexpr (kTurnsOut) {
      change_hands<P>();
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = Field::load(outer[P::point_word(R::outer_further(h))]);
    }
    const Points<P, kRound> to;
    if constexpr (requires { writer.numbers(x, to, field); }) {
      writer.numbers(x, to, field);
    } else {
      u64 words[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) words[h] = kResidues ? Field::store(x[h]) : field.to_residue(x[h]);
      writer.drain(words, to);
    }
  }
}

/// All rounds, in the arithmetic of the prime's size. kLeft: as in Roots.
template <class P, bool kForward, int kLeft, class Reader, class Writer>
__device__ __forceinline__ void run_rounds(const Reader& reader, const Writer& writer, u64* shared,
                                           const Near<P, kForward>& near) {
  constexpr int kBegin = kForward ? 0 : P::kRounds - 1;
  if (near.doubles()) {
    run_round<P, kForward, kBegin>(reader, writer, shared, near.template roots<DoubleField, kLeft>(),
                                   near.double_field());
  } else {
    run_round<P, kForward, kBegin>(reader, writer, shared, near.template roots<IntegerField, kLeft>(),
                                   near.integer_field());
  }
}

/// One pass over kWidth columns or rows of one polynomial of one limb. The first pass of a transform reads residues in
/// [0, 2q), the second writes them canonical; an inverse is not yet divided by N. May be in place: a block reads all of
/// its tile before it writes, and no block reads another's.
template <class P, bool kForward, class In, class Out>
__global__ void __launch_bounds__(P::kThreads)
    transform_pass(const Tables tables, const Job job, const In in, const Out out) {
  __shared__ alignas(16) u64 shared[P::kWords + Near<P, kForward>::kWords];
  const Near<P, kForward> near(tables, job.prime(static_cast<int>(blockIdx.y) / job.polynomials),
                               shared + P::kWords);
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / job.polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * job.polynomials;
  const int prime = job.prime(limb);
  if (job.skips(prime, polynomial)) return;

  const auto reader = in.open(tables, prime, limb, polynomial);
  const auto writer = out.open(tables, prime, limb, polynomial);
  run_rounds<P, kForward, 0>(reader, writer, shared, near);
}

/// Calls launch.template operator()<P>() with the pass P at N = 2^log_n.
template <bool kColumns, class Launch>
void at_pass(int log_n, const Launch& launch) {
  switch (log_n) {
    case 10:
      return launch.template operator()<Pass<10, kColumns>>();
    case 11:
      return launch.template operator()<Pass<11, kColumns>>();
    case 12:
      return launch.template operator()<Pass<12, kColumns>>();
    case 13:
      return launch.template operator()<Pass<13, kColumns>>();
    case 14:
      return launch.template operator()<Pass<14, kColumns>>();
    case 15:
      return launch.template operator()<Pass<15, kColumns>>();
    case 16:
      return launch.template operator()<Pass<16, kColumns>>();
    default:
      return launch.template operator()<Pass<17, kColumns>>();
  }
}

/// The column or row pass at the basis's N.
template <bool kColumns, bool kForward, class In, class Out>
void run_pass(const char* name, const Tables& tables, const Job& job, const In& in, const Out& out,
              cudaStream_t stream) {
  at_pass<kColumns>(tables.log_n, [&]<class P>() {
    launch(name, transform_pass<P, kForward, In, Out>, grid_of(P::kTiles, job.limbs * job.polynomials),
           P::kThreads, stream, tables, job, in, out);
  });
}

}  // namespace fheres::ring::cuda
