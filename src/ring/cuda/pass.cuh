#pragma once

#include "ring/cuda/array.hpp"
#include "ring/cuda/launch.cuh"
#include "ring/cuda/tables.hpp"
#include "ring/cuda/transform.hpp"

// The transform kernel. What a pass reads and writes is a type: `In` opens a reader for one polynomial of one limb,
// `Out` a writer, so that the work before and after a transform costs no pass of its own.
//
//   auto reader = in.open(tables, prime, limb, polynomial);   reader.fill<kPairs>(x, position);
//   auto writer = out.open(tables, prime, limb, polynomial);  writer.drain<kPairs>(x, position);
//
// position[] are indices below N; with kPairs, 2h and 2h + 1 are neighbours and the first of them is even.
namespace fheres::ring::cuda {

/// Words of one limb, or residues of a reader that needs no arithmetic.
template <bool kPairs>
__device__ __forceinline__ void read_words(const u64* from, u64 (&x)[kHeld],
                                           const unsigned (&position)[kHeld]) {
  if constexpr (kPairs) {
#pragma unroll
    for (int h = 0; h < kHeld; h += 2) {
      const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(from + position[h]);
      x[h] = pair.x;
      x[h + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) x[h] = from[position[h]];
  }
}

template <bool kPairs>
__device__ __forceinline__ void write_words(u64* to, const u64 (&x)[kHeld],
                                            const unsigned (&position)[kHeld]) {
  if constexpr (kPairs) {
#pragma unroll
    for (int h = 0; h < kHeld; h += 2) {
      *reinterpret_cast<ulonglong2*>(to + position[h]) = make_ulonglong2(x[h], x[h + 1]);
    }
  } else {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) to[position[h]] = x[h];
  }
}

/// Reads what is there: residues, or what the first pass left.
struct Plain {
  ConstArray from;
  struct Reader {
    const u64* from;
    template <bool kPairs>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
      read_words<kPairs>(from, x, position);
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
    template <bool kPairs>
    __device__ __forceinline__ void drain(const u64 (&x)[kHeld], const unsigned (&position)[kHeld]) const {
      write_words<kPairs>(to, x, position);
    }
  };
  __device__ __forceinline__ Writer open(const Tables&, int, int limb, int polynomial) const {
    return {to.at(limb, polynomial)};
  }
};

/// What a reader gives the first pass, and a writer gets from the second, are residues; between the passes lie numbers.
template <bool kColumns, bool kForward>
inline constexpr bool kReadsResidues = kColumns == kForward;

template <int kLog, bool kColumns, bool kForward, int kRound, class Field, class Reader, class Writer>
__device__ __forceinline__ void run_round(const Reader& reader, const Writer& writer, u64* shared,
                                          const Shoup* roots, const Field& field, int other_log) {
  using Shape = Rounds<kLog>;
  using Map = Held<kLog, Shape::start(kRound), Shape::depth(kRound)>;
  using Memory = Tile<kLog, kColumns>;
  constexpr bool kFirst = kRound == (kForward ? 0 : Shape::kCount - 1);
  constexpr bool kLast = kRound == (kForward ? Shape::kCount - 1 : 0);
  constexpr bool kPairs = !kColumns && Map::kBelow == 0;
  constexpr bool kResidues = kReadsResidues<kColumns, kForward>;

  const int thread = static_cast<int>(threadIdx.x);
  const int member = Memory::member(thread), lane = Memory::lane(thread);
  const int line = static_cast<int>(blockIdx.x) * kWidth + member;
  const u64 base = Memory::base(line, other_log);

  int point[kHeld];
  unsigned position[kHeld];
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    point[h] = Map::point(lane, h);
    position[h] = Memory::position(line, point[h], other_log);
  }

  typename Field::Number x[kHeld];
  if constexpr (kFirst) {
    u64 words[kHeld];
    reader.template fill<kPairs>(words, position);
#pragma unroll
    for (int h = 0; h < kHeld; ++h) x[h] = kResidues ? Field::from_residue(words[h]) : Field::load(words[h]);
  } else {
    __syncthreads();
#pragma unroll
    for (int h = 0; h < kHeld; ++h) x[h] = Field::load(shared[Memory::word(member, point[h])]);
  }
  if constexpr (kForward) {
    forward_round<kLog, Shape::start(kRound), Shape::depth(kRound)>(x, lane, base, roots, field);
  } else {
    inverse_round<kLog, Shape::start(kRound), Shape::depth(kRound)>(x, lane, base, roots, field);
  }
  if constexpr (kLast) {
    u64 words[kHeld];
#pragma unroll
    for (int h = 0; h < kHeld; ++h) words[h] = kResidues ? Field::store(x[h]) : field.to_residue(x[h]);
    writer.template drain<kPairs>(words, position);
  } else {
    // A thread writes where it alone has read, so one barrier, before the next round's reads, is enough.
#pragma unroll
    for (int h = 0; h < kHeld; ++h) shared[Memory::word(member, point[h])] = Field::store(x[h]);
    run_round<kLog, kColumns, kForward, kForward ? kRound + 1 : kRound - 1>(reader, writer, shared, roots,
                                                                            field, other_log);
  }
}

/// All rounds, in the arithmetic of the prime's size.
template <int kLog, bool kColumns, bool kForward, class Reader, class Writer>
__device__ __forceinline__ void run_rounds(const Reader& reader, const Writer& writer, u64* shared,
                                           const Shoup* roots, u64 q, int other_log) {
  constexpr int kBegin = kForward ? 0 : Rounds<kLog>::kCount - 1;
  if (q < kDoubleLimit) {
    run_round<kLog, kColumns, kForward, kBegin>(reader, writer, shared, roots, DoubleField(q), other_log);
  } else {
    run_round<kLog, kColumns, kForward, kBegin>(reader, writer, shared, roots, IntegerField(q), other_log);
  }
}

/// One pass over kWidth columns or rows of one polynomial of one limb. The first pass of a transform reads residues in
/// [0, 2q), the second writes them canonical; an inverse is not yet divided by N. May be in place: a block reads all of
/// its tile before it writes, and no block reads another's.
template <int kLog, bool kColumns, bool kForward, class In, class Out>
__global__ void __launch_bounds__((Tile<kLog, kColumns>::kThreads))
    transform_pass(const Tables tables, const Job job, const In in, const Out out) {
  const int limb = static_cast<int>(blockIdx.y) / job.polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * job.polynomials;
  const int prime = job.first_prime + limb;
  if (job.skips(prime, polynomial)) return;

  __shared__ u64 shared[Tile<kLog, kColumns>::kWords];
  const Shoup* const roots =
      (kForward ? tables.forward : tables.inverse) + (static_cast<std::size_t>(prime) << tables.log_n);
  const auto reader = in.open(tables, prime, limb, polynomial);
  const auto writer = out.open(tables, prime, limb, polynomial);
  run_rounds<kLog, kColumns, kForward>(reader, writer, shared, roots, tables.primes[prime].value,
                                       tables.log_n - kLog);
}

template <int kLog, bool kColumns, bool kForward, class In, class Out>
void launch_pass(const char* name, const Tables& tables, const Job& job, const In& in, const Out& out,
                 cudaStream_t stream) {
  const int lines = 1 << (tables.log_n - kLog);
  launch(name, transform_pass<kLog, kColumns, kForward, In, Out>,
         grid_of(lines / kWidth, job.limbs * job.polynomials), Tile<kLog, kColumns>::kThreads, stream, tables,
         job, in, out);
}

/// The column or row pass at the basis's N.
template <bool kColumns, bool kForward, class In, class Out>
void run_pass(const char* name, const Tables& tables, const Job& job, const In& in, const Out& out,
              cudaStream_t stream) {
  const int columns = column_log(tables.log_n);
  switch (kColumns ? columns : tables.log_n - columns) {
    case 5:
      return launch_pass<5, kColumns, kForward>(name, tables, job, in, out, stream);
    case 6:
      return launch_pass<6, kColumns, kForward>(name, tables, job, in, out, stream);
    case 7:
      return launch_pass<7, kColumns, kForward>(name, tables, job, in, out, stream);
    case 8:
      return launch_pass<8, kColumns, kForward>(name, tables, job, in, out, stream);
    default:
      if constexpr (kColumns) return launch_pass<9, kColumns, kForward>(name, tables, job, in, out, stream);
  }
}

}  // namespace fheres::ring::cuda
