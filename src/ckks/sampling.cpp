#include "ckks/sampling.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <sodium.h>

#include <fheres/ring/modarith.hpp>
#include <fheres/scheme/parameters.hpp>

namespace fheres::ckks {
namespace {

void ready() {
  static const bool initialized = sodium_init() >= 0;
  if (!initialized) throw std::runtime_error("the operating system's entropy is not available");
}

std::uint64_t little_endian_word(const unsigned char* bytes) {
  std::uint64_t word = 0;
  for (int i = 7; i >= 0; --i) word = (word << 8) | bytes[i];
  return word;
}

/// The words of the ChaCha20 stream with nonce 0, block by block.
class Words {
 public:
  explicit Words(const Seed& seed) : seed_(seed) { ready(); }
  ~Words() { sodium_memzero(buffer_.data(), buffer_.size()); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  std::uint64_t next() {
    if (used_ == buffer_.size()) fill();
    const std::uint64_t word = little_endian_word(buffer_.data() + used_);
    used_ += 8;
    return word;
  }

 private:
  void fill() {
    buffer_.fill(0);
    crypto_stream_chacha20_xor_ic(buffer_.data(), buffer_.data(), buffer_.size(), nonce_.data(), block_,
                                  seed_.bytes.data());
    block_ += buffer_.size() / 64;
    used_ = 0;
  }

  const Seed& seed_;
  std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce_{};
  std::array<unsigned char, 4096> buffer_{};
  std::size_t used_ = 4096;
  std::uint64_t block_ = 0;
};

// Without a table or a branch, whatever the compiler's own count does.
int ones(std::uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<int>((x * 0x0101010101010101U) >> 56);
}

// A length, then the bytes: so that two lists of fields never run together.
void absorb(crypto_generichash_state& state, const void* data, std::uint64_t bytes) {
  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bytes >> (8 * i));
  crypto_generichash_update(&state, length.data(), length.size());
  crypto_generichash_update(&state, static_cast<const unsigned char*>(data), bytes);
}

}  // namespace

Seed::~Seed() { sodium_memzero(bytes.data(), bytes.size()); }

Randomness Randomness::from_system() {
  ready();
  return Randomness();
}

Randomness Randomness::from_document(std::uint64_t seed) {
  ready();
  Randomness randomness;
  randomness.reproducible_ = true;
  constexpr std::string_view kPurpose = "fheres document seed";
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, randomness.root_.bytes.size());
  absorb(state, kPurpose.data(), kPurpose.size());
  std::array<unsigned char, 8> word{};
  for (std::size_t i = 0; i < 8; ++i) word[i] = static_cast<unsigned char>(seed >> (8 * i));
  absorb(state, word.data(), word.size());
  crypto_generichash_final(&state, randomness.root_.bytes.data(), randomness.root_.bytes.size());
  sodium_memzero(&state, sizeof state);
  sodium_memzero(word.data(), word.size());
  return randomness;
}

Seed Randomness::seed(const Label& label) const {
  Seed seed;
  if (!reproducible_) {
    randombytes_buf(seed.bytes.data(), seed.bytes.size());
    return seed;
  }
  crypto_generichash_state state;
  crypto_generichash_init(&state, root_.bytes.data(), root_.bytes.size(), seed.bytes.size());
  absorb(state, label.purpose.data(), label.purpose.size());
  absorb(state, label.name.data(), label.name.size());
  const auto level = static_cast<std::uint32_t>(label.level);
  const std::array<unsigned char, 4> level_bytes{
      static_cast<unsigned char>(level), static_cast<unsigned char>(level >> 8),
      static_cast<unsigned char>(level >> 16), static_cast<unsigned char>(level >> 24)};
  absorb(state, level_bytes.data(), level_bytes.size());
  absorb(state, label.parameters.data(), label.parameters.size());
  absorb(state, label.detail.data(), label.detail.size());
  crypto_generichash_final(&state, seed.bytes.data(), seed.bytes.size());
  sodium_memzero(&state, sizeof state);
  return seed;
}

SecretWords::SecretWords(std::size_t count) : count_(count) {
  ready();
  data_ = static_cast<std::uint64_t*>(sodium_allocarray(count, sizeof(std::uint64_t)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::fill_n(data_, count, std::uint64_t{0});
}

SecretWords::SecretWords(SecretWords&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}

SecretWords& SecretWords::operator=(SecretWords&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  return *this;
}

SecretWords::~SecretWords() { sodium_free(data_); }

void sample_ternary(const Seed& seed, std::span<std::int64_t> out) {
  Words words(seed);
  for (std::int64_t& value : out) value = static_cast<std::int64_t>(ring::high_word(words.next(), 3)) - 1;
}

void sample_error(const Seed& seed, std::span<std::int64_t> out) {
  static_assert(scheme::kErrorHalfWidth == 21);
  constexpr std::uint64_t kMask = (std::uint64_t{1} << scheme::kErrorHalfWidth) - 1;
  Words words(seed);
  for (std::int64_t& value : out) {
    const std::uint64_t word = words.next();
    value = ones(word & kMask) - ones((word >> scheme::kErrorHalfWidth) & kMask);
  }
}

void sample_even(const Seed& seed, int bits, std::span<std::int64_t> out) {
  const std::int64_t half = std::int64_t{1} << bits;
  Words words(seed);
  for (std::int64_t& value : out) value = static_cast<std::int64_t>(words.next() >> (63 - bits)) - half;
}

}  // namespace fheres::ckks
