#include <algorithm>

#include "ring/chacha20.hpp"
#include "ring/cpu/backend.hpp"
#include "ring/cpu/thread_pool.hpp"
#include "ring/shapes.hpp"

namespace fheres::ring::cpu {
namespace {

// Four blocks side by side: what every x86-64 and every 64-bit ARM has registers for.
using Lanes = std::uint32_t __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;
constexpr std::size_t kBlockWords = 4;  // 128-bit words in a block

void expand_one(const std::uint32_t (&key)[8], int digit, int prime_index, const scheme::Modulus& prime,
                std::uint64_t* out, std::size_t n) {
  const std::uint32_t nonce[3] = {0, static_cast<std::uint32_t>(digit),
                                  static_cast<std::uint32_t>(prime_index)};
  for (std::size_t done = 0; done < n; done += kLanes * kBlockWords) {
    const auto counter = static_cast<std::uint32_t>(done / kBlockWords);
    Lanes words[16];
    ChaCha20<Lanes>::start(key, Lanes{counter, counter + 1, counter + 2, counter + 3}, nonce).block(words);
    const std::size_t count = std::min(n - done, kLanes * kBlockWords);
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t lane = t / kBlockWords;
      const Lanes* word = words + 4 * (t % kBlockWords);
      out[done + t] = reduce_stream_word(word[0][lane], word[1][lane], word[2][lane], word[3][lane], prime);
    }
  }
}

}  // namespace

void CpuBackend::expand(const std::byte* seed, int first, View out, const memory::Stream& stream) const {
  shapes::expand(basis(), seed, first, out);
  run(stream, [this, seed, first, out] {
    std::uint32_t key[8];
    for (int i = 0; i < 8; ++i) key[i] = seed_word(seed, i);
    const auto polynomials = static_cast<std::size_t>(out.polynomials);
    parallel_for(static_cast<std::size_t>(out.limbs) * polynomials, [&](std::size_t index) {
      const int limb = static_cast<int>(index / polynomials);
      const int polynomial = static_cast<int>(index % polynomials);
      const int prime = out.first_prime + limb;
      expand_one(key, first + polynomial, prime, basis().prime(prime), out.at(limb, polynomial), basis().n());
    });
  });
}

}  // namespace fheres::ring::cpu
