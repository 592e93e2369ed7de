#include <algorithm>

#include "ring/cuda/cluster.cuh"
#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"
#include "ring/cuda/source.cuh"

// out(t, c)[n] = sum over j < digits of x_j[n] key(t, c, j)[n] mod t, c = 0, 1, where x_j is extended(t, j), or the
// source where t is a limb of digit j. Ntt domain, everything canonical. Fewer than 64 products below 2^122, and a residue
// that is added, are summed exactly in 128 bits. `out` overlaps nothing that is read.
namespace fheres::ring::cuda {
namespace {

/// Where the two sums of a prime are in the key's storage, and which digit the prime itself belongs to.
struct KeyRows {
  const u64* component[2];
  std::size_t n;
  int own;       // the prime as a Q limb; negative for special primes
  int diagonal;  // the digit that the source stands for, or one that is not there

  __device__ __forceinline__ KeyRows(const Tables& tables, const u64* key, int key_digits, int prime)
      : n(std::size_t{1} << tables.log_n), own(prime - tables.special_limbs) {
    diagonal = own >= 0 ? own / tables.digit_limbs : -1;
    component[0] = key + static_cast<std::size_t>(prime) * 2 * key_digits * n;
    component[1] = component[0] + static_cast<std::size_t>(key_digits) * n;
  }
  // Plain loads, not the read-only path: a key may have been copied here a moment ago.
  __device__ __forceinline__ ulonglong2 read(int c, int digit, unsigned position) const {
    return *reinterpret_cast<const ulonglong2*>(component[c] + static_cast<std::size_t>(digit) * n +
                                                position);
  }
};

constexpr int kProductThreads = 128;  // each sums two neighbouring coefficients

/// The sums at two positions of a limb, and what is added to component 0.
template <bool kGather, class Out>
__device__ __forceinline__ void sum_digits(const Tables& tables, const ConstArray& extended,
                                           const unsigned exponent, const SourceArray& source, const u64* key,
                                           int key_digits, int digits, int first_prime, int limb,
                                           const u64* addend, const Out& out) {
  const int prime = first_prime + limb;
  const KeyRows rows(tables, key, key_digits, prime);
  const unsigned position = 2 * (blockIdx.x * kProductThreads + threadIdx.x);
  const u64* const residues = extended.at(limb, 0);
  const PairSource from(position, kGather ? exponent : 1, tables.log_n);
  const auto read = [&](const u64* x) {
    return kGather ? from.read(x) : read_pair(x, static_cast<int>(position));
  };

  Wide sum[2][2] = {{0, 0}, {0, 0}};
  if (addend != nullptr) {
    const WordPair x = read(addend);
    sum[0][0] = x.first;
    sum[0][1] = x.second;
  }
  const auto accumulate = [&](WordPair x, int digit) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const ulonglong2 y = rows.read(c, digit, position);
      sum[c][0] += static_cast<Wide>(x.first) * y.x;
      sum[c][1] += static_cast<Wide>(x.second) * y.y;
    }
  };
  const auto residue = [&](int digit) {
    return read(residues + static_cast<std::size_t>(digit) * extended.polynomial_stride);
  };
  const int before = rows.diagonal < 0 ? digits : min(rows.diagonal, digits);
#pragma unroll 4
  for (int digit = 0; digit < before; ++digit) accumulate(residue(digit), digit);
#pragma unroll 4
  for (int digit = before + 1; digit < digits; ++digit) accumulate(residue(digit), digit);
  if (before < digits) {
    const SourceLimb at = source_limb(source, tables, prime, rows.own);
    accumulate({at(position), at(position + 1)}, before);
  }

  const scheme::Modulus q = tables.primes[prime];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    *reinterpret_cast<ulonglong2*>(out.at(limb, c) + position) =
        make_ulonglong2(reduce_wide(sum[c][0], q), reduce_wide(sum[c][1], q));
  }
}

/// kGather: the extended residues are read through X -> X^exponent, writes stay neighbours.
template <bool kGather>
__global__ void __launch_bounds__(kProductThreads)
    key_product_kernel(const Tables tables, const ConstArray extended, const unsigned exponent,
                       const SourceArray source, const u64* key, const int key_digits, const int digits,
                       const int first_prime, const Products out) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y);
  sum_digits<kGather>(tables, extended, exponent, source, key, key_digits, digits, first_prime, limb, nullptr,
                      out);
}

constexpr int kMostRotations = 32;  // of one launch

// Without padding (launch).
struct RotationArray {
  const u64* key;
  u64* out;
  std::size_t limb_stride, polynomial_stride;  // of out
  unsigned exponent;
  int key_digits;
};
struct RotationArrays {
  RotationArray rotations[kMostRotations] = {};
};

/// Several rotations of one source. Blocks of one limb follow each other, so its extension stays near while they read it.
/// `addend` is over the limbs from addend_first_limb on.
__global__ void __launch_bounds__(kProductThreads)
    hoisted_products_kernel(const Tables tables, const ConstArray extended, const ConstArray source,
                            const ConstArray addend, const int addend_first_limb,
                            const __grid_constant__ RotationArrays rotations, const int digits,
                            const int first_prime) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.z);
  const RotationArray& rotation = rotations.rotations[blockIdx.y];
  sum_digits<true>(tables, extended, rotation.exponent, {source, {}, rotation.exponent}, rotation.key,
                   rotation.key_digits, digits, first_prime, limb,
                   limb < addend_first_limb ? nullptr : addend.at(limb - addend_first_limb, 0),
                   Array{rotation.out, rotation.limb_stride, rotation.polynomial_stride});
}

/// Takes the last round's points as they are.
template <class Number, int kHeld>
struct Keep {
  Number (&kept)[kHeld];
  template <class At, class Field>
  __device__ __forceinline__ void numbers(const Number (&x)[kHeld], const At&, const Field&) const {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) kept[h] = x[h];
  }
};

/// The two sums at a thread's points. In doubles a product is reduced as it is added.
template <int kHeld>
struct DoubleProducts {
  using Field = DoubleField;
  DoubleField field;
  double sum[2][kHeld] = {};

  __device__ __forceinline__ DoubleProducts(const Tables& tables, int prime)
      : field(tables.doubles[prime].q, tables.doubles[prime].inverse) {}
  __device__ __forceinline__ void add(int c, int h, double x, u64 key) {
    sum[c][h] = field.multiply_add(DoubleField::from_residue(key), x, sum[c][h]);
  }
  /// 32 more products fit: each is within 3q/4.
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      sum[0][h] = field.settle(sum[0][h]);
      sum[1][h] = field.settle(sum[1][h]);
    }
  }
  __device__ __forceinline__ u64 residue(int c, int h) const { return residue_of(sum[c][h]); }
  /// Of the sums of two blocks, which settle after 16 products: 26 q at most, below 2^51.
  __device__ __forceinline__ u64 residue_of(double total) const { return field.to_residue(total); }
};
template <int kHeld>
struct IntegerProducts {
  using Field = IntegerField;
  IntegerField field;
  scheme::Modulus prime;
  u64 sum[2][kHeld] = {};

  __device__ __forceinline__ IntegerProducts(const Tables& tables, int index)
      : field(tables.primes[index].value), prime(tables.primes[index]) {}
  __device__ __forceinline__ void add(int c, int h, u64 x, u64 key) {
    sum[c][h] = reduce_wide(static_cast<Wide>(x) * key + sum[c][h], prime);
  }
  __device__ __forceinline__ void settle() {}
  __device__ __forceinline__ u64 residue(int c, int h) const { return sum[c][h]; }
  /// Of the sums of two blocks.
  __device__ __forceinline__ u64 residue_of(u64 total) const { return reduce_word(total, prime); }
};

/// Rows on their way into shared memory while a block computes, as they lie in memory: two of the key and one of the
/// digits. The threads of a row copy it and share it, so a warp is all that has to wait.
template <class P>
struct Stage {
  u64* words;  // [row][member][point]
  static constexpr int kRow = 1 << P::kLog;
  static constexpr int kWords = 3 * kWidth * kRow;

  __device__ __forceinline__ u64* row(int index) const {
    return words + (index * kWidth + P::member(static_cast<int>(threadIdx.x))) * kRow;
  }
  /// `limb` is a whole polynomial of one limb. Ends a group of copies.
  __device__ __forceinline__ void fetch(int index, const u64* limb) const {
    const int thread = static_cast<int>(threadIdx.x), lane = P::lane(thread);
    const int line = static_cast<int>(blockIdx.x) * kWidth + P::member(thread);
    const u64* const from = limb + P::line_at(line) + 2 * lane;
    u64* const to = row(index) + 2 * lane;
    constexpr int kStep = 2 * P::kLanes;
#pragma unroll
    for (int h = 0; h < P::kHeld / 2; ++h) copy_near(to + h * kStep, from + h * kStep);
    end_copies();
  }
  /// Until at most kLeft groups are on their way, for the whole warp.
  template <int kLeft>
  __device__ __forceinline__ void wait() const {
    wait_for_copies<kLeft>();
    __syncwarp();
  }

  /// Reads the staged row of the digits.
  struct Reader {
    Stage stage;
    template <int kHeld, class At>
    __device__ __forceinline__ void fill(u64 (&x)[kHeld], const At&) const {
      using R = Round<P, 0>;
      const u64* const from = stage.row(2) + R::first_outer(P::lane(static_cast<int>(threadIdx.x)));
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = from[R::outer_further(h)];
    }
  };
};

/// The sums of a cluster's blocks, which have had the same rows of different digits: each block adds up a share of the
/// points and writes it. They lie where the key's rows were, at the places that the thread itself has read.
template <class P, int kParts, class Sums>
__device__ __forceinline__ void gather_sums(const Sums& sums, const Stage<P>& stage, const Products& out,
                                            int limb) {
  using Field = typename Sums::Field;
  constexpr int kShare = P::kHeld / kParts;
  const PointsOut<P, true> at;
  const int lane = P::lane(static_cast<int>(threadIdx.x));
  const int first = static_cast<int>(blockIdx.z) * kShare;
#pragma unroll
  for (int c = 0; c < 2; ++c) {
#pragma unroll
    for (int h = 0; h < P::kHeld; ++h) stage.row(c)[lane + h * P::kLanes] = Field::store(sums.sum[c][h]);
  }
  meet_cluster();
#pragma unroll
  for (int c = 0; c < 2; ++c) {
#pragma unroll
    for (int h = 0; h < kShare; ++h) {
      const u64* const own = stage.row(c) + lane + (first + h) * P::kLanes;
      typename Field::Number total = 0;
#pragma unroll
      for (unsigned block = 0; block < kParts; ++block) total += Field::load(read_other(own, block));
      out.at(limb, c)[at.first + at.offset(first + h)] = sums.residue_of(total);
    }
  }
  meet_cluster();  // nobody leaves while others read
}

/// The forward row pass of every digit and the product in one: `extended` is what the column pass left, and
/// its transform is never written. One block has the same rows of all digits of one limb, one digit after the other; or
/// a cluster of kParts blocks has them, and each block every kParts-th digit.
template <class P, int kParts, class Sums>
__device__ __forceinline__ void sum_rows(const Tables& tables, const ConstArray& extended,
                                         const SourceArray& source, const KeyRows& rows, int digits, int limb,
                                         int prime, const Products& out, u64* shared,
                                         const Near<P, true>& near) {
  using Field = typename Sums::Field;
  const Stage<P> stage{shared + P::kWords};
  const auto roots = near.template roots<Field, -1>();
  const PointsOut<P, true> at;
  const int lane = P::lane(static_cast<int>(threadIdx.x));
  const auto key_row = [&](int c, int digit) {
    return rows.component[c] + static_cast<std::size_t>(digit) * rows.n;
  };
  // Where the source stands for the digit, nobody may have written a row: the key's is as good, and is wanted next.
  const auto digit_row = [&](int digit) {
    return digit == rows.diagonal ? key_row(0, digit) : extended.at(limb, digit);
  };
  Sums sums(tables, prime);
  const int begin = kParts == 1 ? 0 : static_cast<int>(blockIdx.z);
  stage.fetch(2, digit_row(begin));
  wait_for_copies<1>();  // for the roots
  __syncthreads();
#pragma unroll 1
  for (int digit = begin; digit < digits; digit += kParts) {
    stage.fetch(0, key_row(0, digit));
    stage.fetch(1, key_row(1, digit));
    stage.template wait<2>();
    typename Field::Number x[P::kHeld];
    if (digit == rows.diagonal) {
      const SourceLimb own = source_limb(source, tables, prime, rows.own);
#pragma unroll
      for (int h = 0; h < P::kHeld; ++h) x[h] = Field::from_residue(own(at.first + at.offset(h)));
    } else {
      run_round<P, true, 0>(typename Stage<P>::Reader{stage}, Keep<typename Field::Number, P::kHeld>{x},
                            shared, roots, sums.field);
    }
    __syncwarp();  // the next digit writes where others have read
    stage.fetch(2, digit_row(digit + kParts < digits ? digit + kParts : digit));
    stage.template wait<1>();
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const u64* const staged = stage.row(c) + lane;
#pragma unroll
      for (int h = 0; h < P::kHeld; ++h) sums.add(c, h, x[h], staged[h * P::kLanes]);
    }
    __syncwarp();
    if (digit % 32 + kParts >= 32) sums.settle();
  }
  stage.template wait<0>();
  if constexpr (kParts > 1) return gather_sums<P, kParts>(sums, stage, out, limb);
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    u64* const to = out.at(limb, c) + at.first;
#pragma unroll
    for (int h = 0; h < P::kHeld; ++h) to[at.offset(h)] = sums.residue(c, h);
  }
}

constexpr int kProductWarps = 16;  // that a multiprocessor has room for

template <class P, int kParts>
__global__ void __launch_bounds__(P::kThreads, kProductWarps * 32 / P::kThreads)
    product_rows_kernel(const Tables tables, const ConstArray extended, const SourceArray source,
                        const u64* key, const int key_digits, const int digits, const int first_prime,
                        const Products out) {
  extern __shared__ __align__(16) u64 shared[];
  const Near<P, true> near(tables, first_prime + static_cast<int>(blockIdx.y),
                           shared + P::kWords + Stage<P>::kWords);
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y);
  const int prime = first_prime + limb;
  const KeyRows rows(tables, key, key_digits, prime);
  if (near.doubles()) {
    sum_rows<P, kParts, DoubleProducts<P::kHeld>>(tables, extended, source, rows, digits, limb, prime, out,
                                                  shared, near);
  } else {
    sum_rows<P, kParts, IntegerProducts<P::kHeld>>(tables, extended, source, rows, digits, limb, prime, out,
                                                   shared, near);
  }
}

/// Whether two blocks share the digits of a tile of rows. To share costs something, and pays where the last round of blocks
/// would leave much of the device idle.
bool worth_sharing(const Tables& tables, int tiles, int digits, int slots) {
  const int rounds = (tiles + slots - 1) / slots;
  return tables.device.clusters && rounds > 1 && digits >= 4 && 4 * tiles < 3 * rounds * slots;
}

}  // namespace

bool worth_fusing(const Tables& tables, ConstView extended) {
  // One block a tile of rows takes the digits in turn: below this many residues a limb and digit that leaves much of
  // the device idle, and separate passes are faster.
  return (static_cast<std::size_t>(extended.limbs) << tables.log_n) >= (std::size_t{1} << 18);
}

void product_rows(const Tables& tables, ConstView extended, const Source& source, const u64* key,
                  int key_digits, const Products& out, cudaStream_t stream) {
  at_pass<false>(tables.log_n, [&]<class P>() {
    const int words = P::kWords + Stage<P>::kWords + Near<P, true>::kWords;
    const int slots = tables.device.multiprocessors * (kProductWarps * 32 / P::kThreads);
    const BlockSize block(P::kThreads, words * static_cast<int>(sizeof(u64)));
    const auto queue = [&](auto kernel, BlockSize size, unsigned parts) {
      launch("product rows", kernel,
             dim3(static_cast<unsigned>(P::kTiles), static_cast<unsigned>(extended.limbs), parts), size,
             stream, tables, array(extended), source_array(source), key, key_digits, extended.polynomials,
             extended.first_prime, out);
    };
    if (worth_sharing(tables, P::kTiles * extended.limbs, extended.polynomials, slots)) {
      queue(product_rows_kernel<P, 2>, block.in_clusters(dim3(1, 1, 2)), 2);
    } else {
      queue(product_rows_kernel<P, 1>, block, 1);
    }
  });
}

void key_product(const Tables& tables, ConstView extended, std::uint32_t exponent, const Source& source,
                 const u64* key, int key_digits, const Products& out, cudaStream_t stream) {
  const int pairs = (1 << tables.log_n) / 2;
  launch(exponent == 1 ? "key product" : "hoisted product",
         exponent == 1 ? key_product_kernel<false> : key_product_kernel<true>,
         grid_of(pairs / kProductThreads, extended.limbs), kProductThreads, stream, tables, array(extended),
         exponent, source_array(source), key, key_digits, extended.polynomials, extended.first_prime, out);
}

void hoisted_products(const Tables& tables, ConstView extended, ConstView source, ConstView addend,
                      std::span<const Rotation> rotations, cudaStream_t stream) {
  const auto pairs = static_cast<unsigned>((1 << tables.log_n) / 2);
  for (std::size_t first = 0; first < rotations.size(); first += kMostRotations) {
    RotationArrays some;
    const auto part =
        rotations.subspan(first, std::min<std::size_t>(kMostRotations, rotations.size() - first));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const View& out = part[i].out;
      some.rotations[i] = {part[i].key,           out.data,          out.limb_stride, out.polynomial_stride,
                           part[i].turn.exponent, part[i].key_digits};
    }
    launch("hoisted products", hoisted_products_kernel,
           dim3(pairs / kProductThreads, static_cast<unsigned>(part.size()),
                static_cast<unsigned>(extended.limbs)),
           kProductThreads, stream, tables, array(extended), array(source), array(addend),
           extended.limbs - addend.limbs, some, extended.polynomials, extended.first_prime);
  }
}

}  // namespace fheres::ring::cuda
