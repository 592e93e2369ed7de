#pragma once

#include <cstdint>
#include <span>

#include <fheres/ckks/randomness.hpp>

/// Randomness as small integers, and memory for secrets.
namespace fheres::ckks {

/// Words in guarded memory: locked where the system allows, wiped when freed. Zero at first. Move-only.
class SecretWords {
 public:
  explicit SecretWords(std::size_t count);
  SecretWords(SecretWords&& other) noexcept;
  SecretWords& operator=(SecretWords&& other) noexcept;
  ~SecretWords();

  std::uint64_t* data() const { return data_; }
  std::size_t size() const { return count_; }
  /// The same words, for small signed integers.
  std::span<std::int64_t> integers() const { return {reinterpret_cast<std::int64_t*>(data_), count_}; }

 private:
  std::uint64_t* data_ = nullptr;
  std::size_t count_ = 0;
};

/// -1, 0, 1, equally likely (bias below 2^-62); a 64-bit word each. In constant time.
void sample_ternary(const Seed& seed, std::span<std::int64_t> out);
/// Centred binomial, k = 21: the number of ones among 21 bits, less that among 21 others. In constant time.
void sample_error(const Seed& seed, std::span<std::int64_t> out);
/// Every integer of [-2^bits, 2^bits) is equally likely; 0 <= bits <= 62.
void sample_even(const Seed& seed, int bits, std::span<std::int64_t> out);

}  // namespace fheres::ckks
