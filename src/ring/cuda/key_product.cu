#include "ring/cuda/operations.hpp"
#include "ring/cuda/pass.cuh"
#include "ring/cuda/source.cuh"

// out(t, c)[n] = sum over j < digits of x_j[n] key(t, c, j)[n] mod t, c = 0, 1, where x_j is extended(t, j), or the
// source where t is a limb of digit j. Ntt domain, everything canonical. Fewer than 64 products below 2^122 are summed
// exactly in 128 bits. `out` overlaps nothing that is read.
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
  __device__ __forceinline__ void prefetch(int c, int digit, unsigned position) const {
    asm volatile(
        "prefetch.global.L2 [%0];" ::"l"(component[c] + static_cast<std::size_t>(digit) * n + position));
  }
};

constexpr int kProductThreads = 128;  // each sums two neighbouring coefficients

/// kGather: the extended residues are read through X -> X^exponent, writes stay neighbours.
template <bool kGather>
__global__ void __launch_bounds__(kProductThreads)
    key_product_kernel(const Tables tables, const ConstArray extended, const unsigned exponent,
                       const SourceArray source, const u64* key, const int key_digits, const int digits,
                       const int first_prime, const Products out) {
  const int limb = static_cast<int>(blockIdx.y);
  const int prime = first_prime + limb;
  const KeyRows rows(tables, key, key_digits, prime);
  const unsigned position = 2 * (blockIdx.x * kProductThreads + threadIdx.x);
  const u64* const residues = extended.at(limb, 0);
  const unsigned from[2] = {kGather ? gather_source(position, exponent, tables.log_n) : position,
                            kGather ? gather_source(position + 1, exponent, tables.log_n) : position + 1};

  Wide sum[2][2] = {{0, 0}, {0, 0}};
  const auto accumulate = [&](ulonglong2 x, int digit) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const ulonglong2 y = rows.read(c, digit, position);
      sum[c][0] += static_cast<Wide>(x.x) * y.x;
      sum[c][1] += static_cast<Wide>(x.y) * y.y;
    }
  };
  const auto residue = [&](int digit) {
    const u64* const x = residues + static_cast<std::size_t>(digit) * extended.polynomial_stride;
    if constexpr (kGather) return make_ulonglong2(x[from[0]], x[from[1]]);
    return *reinterpret_cast<const ulonglong2*>(x + from[0]);
  };
  const int before = rows.diagonal < 0 ? digits : min(rows.diagonal, digits);
#pragma unroll 4
  for (int digit = 0; digit < before; ++digit) accumulate(residue(digit), digit);
#pragma unroll 4
  for (int digit = before + 1; digit < digits; ++digit) accumulate(residue(digit), digit);
  if (before < digits) {
    const SourceLimb at = source_limb(source, tables, prime, rows.own);
    accumulate(make_ulonglong2(at(position), at(position + 1)), before);
  }

  const scheme::Modulus q = tables.primes[prime];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    *reinterpret_cast<ulonglong2*>(out.at(limb, c) + position) =
        make_ulonglong2(reduce_wide(sum[c][0], q), reduce_wide(sum[c][1], q));
  }
}

/// Keeps the last round's points where they are, in registers.
struct Keep {
  u64 (&kept)[kHeld];
  template <bool kPairs>
  __device__ __forceinline__ void drain(const u64 (&x)[kHeld], const unsigned (&)[kHeld]) const {
#pragma unroll
    for (int h = 0; h < kHeld; ++h) kept[h] = x[h];
  }
};

/// The forward row pass of every digit and the product in one: `extended` is what the column pass left, and
/// its transform is never written. One block has the same rows of all digits of one limb, one digit after the other.
template <int kLog>
__global__ void __launch_bounds__((Tile<kLog, false>::kThreads))
    product_rows_kernel(const Tables tables, const ConstArray extended, const SourceArray source,
                        const u64* key, const int key_digits, const int digits, const int first_prime,
                        const Products out) {
  using Memory = Tile<kLog, false>;
  using Shape = Rounds<kLog>;
  constexpr int kEnd = Shape::kCount - 1;
  using Last = Held<kLog, Shape::start(kEnd), Shape::depth(kEnd)>;
  static_assert(Last::kBelow == 0 && Shape::depth(kEnd) >= 1);  // points 2h and 2h + 1 are neighbours
  // Two buffers: a thread may begin a digit while others still read the one before.
  __shared__ u64 shared[2][Memory::kWords];

  const int limb = static_cast<int>(blockIdx.y);
  const int prime = first_prime + limb;
  const scheme::Modulus q = tables.primes[prime];
  const KeyRows rows(tables, key, key_digits, prime);
  const Shoup* const roots = tables.forward + (static_cast<std::size_t>(prime) << tables.log_n);
  const int other_log = tables.log_n - kLog;
  const int thread = static_cast<int>(threadIdx.x);
  const int line = static_cast<int>(blockIdx.x) * kWidth + Memory::member(thread);
  unsigned position[kHeld];
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    position[h] = Memory::position(line, Last::point(Memory::lane(thread), h), other_log);
  }

  Wide sum[2][kHeld];
#pragma unroll
  for (int h = 0; h < kHeld; ++h) sum[0][h] = sum[1][h] = 0;
#pragma unroll 1
  for (int digit = 0; digit < digits; ++digit) {
    // On their way from memory during the transform.
#pragma unroll
    for (int h = 0; h < kHeld; h += 1 << Shape::depth(kEnd)) {
      rows.prefetch(0, digit, position[h]);
      rows.prefetch(1, digit, position[h]);
    }
    u64 x[kHeld];
    if (digit == rows.diagonal) {
      const SourceLimb at = source_limb(source, tables, prime, rows.own);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) x[h] = at(position[h]);
    } else {
      run_rounds<kLog, false, true>(Plain::Reader{extended.at(limb, digit)}, Keep{x}, shared[digit & 1],
                                    roots, q.value, other_log);
    }
#pragma unroll
    for (int h = 0; h < kHeld; h += 2) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const ulonglong2 y = rows.read(c, digit, position[h]);
        sum[c][h] += static_cast<Wide>(x[h]) * y.x;
        sum[c][h + 1] += static_cast<Wide>(x[h + 1]) * y.y;
      }
    }
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    u64* const to = out.at(limb, c);
#pragma unroll
    for (int h = 0; h < kHeld; h += 2) {
      *reinterpret_cast<ulonglong2*>(to + position[h]) =
          make_ulonglong2(reduce_wide(sum[c][h], q), reduce_wide(sum[c][h + 1], q));
    }
  }
}

template <int kLog>
void launch_product_rows(const Tables& tables, ConstView extended, const Source& source, const u64* key,
                         int key_digits, const Products& out, cudaStream_t stream) {
  const int rows = 1 << (tables.log_n - kLog);
  launch("product rows", product_rows_kernel<kLog>, grid_of(rows / kWidth, extended.limbs),
         Tile<kLog, false>::kThreads, stream, tables, array(extended), source_array(source), key, key_digits,
         extended.polynomials, extended.first_prime, out);
}

}  // namespace

bool worth_fusing(const Tables& tables, ConstView extended) {
  // One block a tile of rows takes the digits in turn: below this many residues a limb and digit that leaves much of
  // the device idle, and separate passes are faster.
  return (static_cast<std::size_t>(extended.limbs) << tables.log_n) >= (std::size_t{1} << 18);
}

void product_rows(const Tables& tables, ConstView extended, const Source& source, const u64* key,
                  int key_digits, const Products& out, cudaStream_t stream) {
  switch (tables.log_n - column_log(tables.log_n)) {
    case 5:
      return launch_product_rows<5>(tables, extended, source, key, key_digits, out, stream);
    case 6:
      return launch_product_rows<6>(tables, extended, source, key, key_digits, out, stream);
    case 7:
      return launch_product_rows<7>(tables, extended, source, key, key_digits, out, stream);
    default:
      return launch_product_rows<8>(tables, extended, source, key, key_digits, out, stream);
  }
}

void key_product(const Tables& tables, ConstView extended, std::uint32_t exponent, const Source& source,
                 const u64* key, int key_digits, const Products& out, cudaStream_t stream) {
  const int pairs = (1 << tables.log_n) / 2;
  launch(exponent == 1 ? "key product" : "hoisted product",
         exponent == 1 ? key_product_kernel<false> : key_product_kernel<true>,
         grid_of(pairs / kProductThreads, extended.limbs), kProductThreads, stream, tables, array(extended),
         exponent, source_array(source), key, key_digits, extended.polynomials, extended.first_prime, out);
}

}  // namespace fheres::ring::cuda
