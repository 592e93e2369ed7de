#pragma once

#include <cstddef>
#include <cstdint>

#include <fheres/ring/modarith.hpp>

/// The block function of ChaCha20 (RFC 8439, section 2.3), for one block or for several side by side.
namespace fheres::ring {

/// `Word` is std::uint32_t, or a vector of such: then every lane is a block of its own.
template <class Word>
struct ChaCha20 {
  Word state[16];

  /// key: 8 words, nonce: 3 words; each a little-endian word of the RFC's bytes.
  FHERES_HOST_DEVICE static ChaCha20 start(const std::uint32_t (&key)[8], Word counter,
                                           const std::uint32_t (&nonce)[3]) {
    const Word zero{};
    ChaCha20 chacha;
    chacha.state[0] = zero + 0x61707865U;  // `expand 32-byte k`
    chacha.state[1] = zero + 0x3320646eU;
    chacha.state[2] = zero + 0x79622d32U;
    chacha.state[3] = zero + 0x6b206574U;
    for (int i = 0; i < 8; ++i) chacha.state[4 + i] = zero + key[i];
    chacha.state[12] = counter;
    for (int i = 0; i < 3; ++i) chacha.state[13 + i] = zero + nonce[i];
    return chacha;
  }

  /// The 16 words of the block that this state starts.
  FHERES_HOST_DEVICE void block(Word (&x)[16]) const {
    for (int i = 0; i < 16; ++i) x[i] = state[i];
    for (int round = 0; round < 10; ++round) {
      quarter(x[0], x[4], x[8], x[12]);
      quarter(x[1], x[5], x[9], x[13]);
      quarter(x[2], x[6], x[10], x[14]);
      quarter(x[3], x[7], x[11], x[15]);
      quarter(x[0], x[5], x[10], x[15]);
      quarter(x[1], x[6], x[11], x[12]);
      quarter(x[2], x[7], x[8], x[13]);
      quarter(x[3], x[4], x[9], x[14]);
    }
    for (int i = 0; i < 16; ++i) x[i] += state[i];
  }

 private:
  template <int bits>
  FHERES_HOST_DEVICE static void rotate(Word& x) {
    x = (x << bits) | (x >> (32 - bits));
  }
  FHERES_HOST_DEVICE static void quarter(Word& a, Word& b, Word& c, Word& d) {
    a += b;
    d ^= a;
    rotate<16>(d);
    c += d;
    b ^= c;
    rotate<12>(b);
    a += b;
    d ^= a;
    rotate<8>(d);
    c += d;
    b ^= c;
    rotate<7>(b);
  }
};

/// Four consecutive words of a stream as its little-endian 128-bit word, modulo the prime.
FHERES_HOST_DEVICE inline std::uint64_t reduce_stream_word(std::uint32_t w0, std::uint32_t w1,
                                                           std::uint32_t w2, std::uint32_t w3,
                                                           const scheme::Modulus& prime) {
  const std::uint64_t low = (static_cast<std::uint64_t>(w1) << 32) | w0;
  const std::uint64_t high = (static_cast<std::uint64_t>(w3) << 32) | w2;
  return reduce_wide((static_cast<Wide>(high) << 64) | low, prime);
}

/// Word i of a seed: four of its bytes, little-endian.
FHERES_HOST_DEVICE inline std::uint32_t seed_word(const std::byte* seed, int i) {
  const std::byte* bytes = seed + 4 * i;
  return static_cast<std::uint32_t>(bytes[0]) | (static_cast<std::uint32_t>(bytes[1]) << 8) |
         (static_cast<std::uint32_t>(bytes[2]) << 16) | (static_cast<std::uint32_t>(bytes[3]) << 24);
}

}  // namespace fheres::ring
