#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <sodium.h>

#include "ring/chacha20.hpp"
#include "ring/ring_support.hpp"
#include "support/random.hpp"

using namespace fheres;
using namespace fheres::test;

namespace {

using SeedBytes = std::array<std::byte, ring::kSeedBytes>;

SeedBytes random_seed(std::mt19937_64& random) {
  SeedBytes seed;
  for (std::byte& byte : seed) byte = static_cast<std::byte>(random());
  return seed;
}

// The residues of one polynomial in one prime, by another implementation of the stream and by big integers.
Words expected_residues(const SeedBytes& seed, std::uint32_t digit, std::uint32_t prime_index,
                        std::uint64_t prime, std::size_t n) {
  std::array<unsigned char, crypto_stream_chacha20_IETF_NONCEBYTES> nonce{};
  for (std::size_t i = 0; i < 4; ++i) {
    nonce[4 + i] = static_cast<unsigned char>(digit >> (8 * i));
    nonce[8 + i] = static_cast<unsigned char>(prime_index >> (8 * i));
  }
  std::vector<unsigned char> stream(16 * n);
  crypto_stream_chacha20_ietf(stream.data(), stream.size(), nonce.data(),
                              reinterpret_cast<const unsigned char*>(seed.data()));
  Words residues(n);
  for (std::size_t t = 0; t < n; ++t) {
    Big word;
    for (std::size_t i = 16; i-- > 0;) word = word * Big(256) + Big(stream[16 * t + i]);
    residues[t] = word % prime;
  }
  return residues;
}

}  // namespace

TEST_CASE("the block function gives the block of RFC 8439, section 2.3.2") {
  std::uint32_t key[8];
  for (std::uint32_t i = 0; i < 8; ++i) key[i] = 0x03020100U + 0x04040404U * i;
  const std::uint32_t nonce[3] = {0x09000000U, 0x4a000000U, 0};
  std::uint32_t block[16];
  ring::ChaCha20<std::uint32_t>::start(key, 1, nonce).block(block);
  const std::uint32_t expected[16] = {
      0xe4e7f110U, 0x15593bd1U, 0x1fdd0f50U, 0xc47120a3U, 0xc7f4d1c7U, 0x0368c033U, 0x9aaa2204U, 0x4e6cd4c3U,
      0x466482d2U, 0x09aa9f07U, 0x05d7c214U, 0xa2028bd9U, 0xd19c12b5U, 0xb94e16deU, 0xe883d0cbU, 0x4e3c50a2U};
  CHECK(std::equal(std::begin(block), std::end(block), std::begin(expected)));
}

TEST_CASE("a zero seed gives the published stream of a zero key modulo the prime") {
  // RFC 8439, appendix A.1, test vector 1: zero key, zero nonce, counter 0.
  const auto basis = small_basis(5, 3, 1, 1);
  const SeedBytes zero{};
  Poly out(*basis, 0, 1, 1);
  ring::make_cpu_backend(basis, nullptr)->expand(zero.data(), 0, out.view, {});
  const Big first = Big(0x28bd8653e56a5d40U) * Big(std::uint64_t{1} << 32) * Big(std::uint64_t{1} << 32) +
                    Big(0x903df1a0ade0b876U);
  CHECK(out.at(0, 0, 0) == first % basis->prime(0).value);
}

TEST_CASE("expanded residues are the stream's 128-bit words modulo each prime, by big integers") {
  const std::uint64_t test_seed_value = test_seed(0x5eed5);
  INFO("FHERES_TEST_SEED=" << test_seed_value);
  std::mt19937_64 random(test_seed_value);
  for (const int log_n : {1, 3, 4, 6, 10}) {
    CAPTURE(log_n);
    const auto basis = small_basis(log_n, 4, 2, 2);
    const auto backend = ring::make_cpu_backend(basis, nullptr);
    const SeedBytes seed = random_seed(random);
    Poly out(*basis, 0, basis->prime_count(), 3);
    backend->expand(seed.data(), 0, out.view, {});
    for (int limb = 0; limb < basis->prime_count(); ++limb) {
      for (int digit = 0; digit < 3; ++digit) {
        const std::uint64_t prime = basis->prime(limb).value;
        const Words expected = expected_residues(seed, static_cast<std::uint32_t>(digit),
                                                 static_cast<std::uint32_t>(limb), prime, basis->n());
        CHECK(std::equal(expected.begin(), expected.end(), out.view.at(limb, digit)));
      }
    }
  }
}

TEST_CASE("any limbs and any polynomials expand alone, to the same residues") {
  const std::uint64_t test_seed_value = test_seed(0x5eed6);
  INFO("FHERES_TEST_SEED=" << test_seed_value);
  std::mt19937_64 random(test_seed_value);
  const auto basis = small_basis(6, 4, 2, 2);
  const auto backend = ring::make_cpu_backend(basis, nullptr);
  const SeedBytes seed = random_seed(random);
  Poly whole(*basis, 0, basis->prime_count(), 3);
  backend->expand(seed.data(), 0, whole.view, {});
  for (int first = 0; first < basis->prime_count(); ++first) {
    for (int limbs = 1; first + limbs <= basis->prime_count(); ++limbs) {
      for (int from = 0; from < 3; ++from) {
        Poly part(*basis, first, limbs, 3 - from);
        backend->expand(seed.data(), from, part.view, {});
        for (int limb = 0; limb < limbs; ++limb) {
          for (int polynomial = from; polynomial < 3; ++polynomial) {
            const std::uint64_t* own = part.view.at(limb, polynomial - from);
            CHECK(std::equal(own, own + basis->n(), whole.view.at(first + limb, polynomial)));
          }
        }
      }
    }
  }
}

TEST_CASE("another seed, digit or prime gives another stream") {
  std::mt19937_64 random(7);
  const auto basis = small_basis(10, 4, 2, 2);
  const auto backend = ring::make_cpu_backend(basis, nullptr);
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 3; ++i) {
    const SeedBytes seed = random_seed(random);
    Poly out(*basis, 0, basis->prime_count(), 3);
    backend->expand(seed.data(), 0, out.view, {});
    all.insert(all.end(), out.words.begin(), out.words.end());
  }
  std::sort(all.begin(), all.end());
  // Residues of 40 bits and more: equal ones among 55,000 are chance, and rare.
  CHECK(std::unique(all.begin(), all.end()) - all.begin() > static_cast<std::ptrdiff_t>(all.size()) - 10);
}
