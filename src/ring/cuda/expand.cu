#include "ring/chacha20.hpp"
#include "ring/cuda/array.hpp"
#include "ring/cuda/launch.cuh"
#include "ring/cuda/operations.hpp"

namespace fheres::ring::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlockWords = 4;  // 128-bit words, that is residues, in a block of the stream

/// out(limb, p)[t] = 128-bit word t of ChaCha20(seed, nonce 0, first + p, first_prime + limb) mod prime, canonical. A thread
/// has one block of the stream in registers: four neighbouring residues, in two 16-byte stores. Block row y is limb
/// y / polynomials, polynomial y % polynomials. Reads nothing but the seed, and what it copies meanwhile.
__global__ void __launch_bounds__(kThreads)
    expand_kernel(const Tables tables, const std::byte* seed, const int first, const int first_prime,
                  const int polynomials, const Array out, const ConstArray stored, const Array copied) {
  begin_kernel();
  const int limb = static_cast<int>(blockIdx.y) / polynomials;
  const int polynomial = static_cast<int>(blockIdx.y) - limb * polynomials;
  const unsigned counter = blockIdx.x * kThreads + threadIdx.x;
  const scheme::Modulus prime = tables.primes[first_prime + limb];
  ulonglong2 words[2] = {};
  if (stored.data != nullptr) {
    const auto* const from =
        reinterpret_cast<const ulonglong2*>(stored.at(limb, polynomial) + kBlockWords * counter);
    words[0] = from[0];
    words[1] = from[1];
  }
  std::uint32_t key[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) key[i] = seed_word(seed, i);
  const std::uint32_t nonce[3] = {0, static_cast<std::uint32_t>(first + polynomial),
                                  static_cast<std::uint32_t>(first_prime + limb)};
  std::uint32_t x[16];
  ChaCha20<std::uint32_t>::start(key, counter, nonce).block(x);
  u64 residues[kBlockWords];
#pragma unroll
  for (int i = 0; i < kBlockWords; ++i) {
    residues[i] = reduce_stream_word(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3], prime);
  }
  ulonglong2* const to = reinterpret_cast<ulonglong2*>(out.at(limb, polynomial) + kBlockWords * counter);
  to[0] = make_ulonglong2(residues[0], residues[1]);
  to[1] = make_ulonglong2(residues[2], residues[3]);
  if (stored.data != nullptr) {
    auto* const beside = reinterpret_cast<ulonglong2*>(copied.at(limb, polynomial) + kBlockWords * counter);
    beside[0] = words[0];
    beside[1] = words[1];
  }
}

}  // namespace

void expand(const Tables& tables, const std::byte* seed, int first, View out, ConstView stored, View copied,
            cudaStream_t stream) {
  // At least 2^10 coefficients: whole groups of threads.
  const int groups = (1 << tables.log_n) / (kBlockWords * kThreads);
  launch("expand", expand_kernel, grid_of(groups, out.limbs * out.polynomials), kThreads, stream, tables,
         seed, first, out.first_prime, out.polynomials, array(out), array(stored), array(copied));
}

}  // namespace fheres::ring::cuda
