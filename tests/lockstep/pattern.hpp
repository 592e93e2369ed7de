#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fheres/base/bytes.hpp>

namespace fheres::lockstep {

/// The contents of one value: whoever reads a block can tell whether it still is that value's.
inline std::uint64_t pattern_word(std::uint64_t content, Bytes index) {
  std::uint64_t x = content * 0x9E3779B97F4A7C15u + index + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline void fill_pattern(std::byte* data, Bytes bytes, std::uint64_t content) {
  for (Bytes at = 0; at < bytes; at += 8) {
    const std::uint64_t word = pattern_word(content, at);
    std::memcpy(data + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

inline bool has_pattern(const std::byte* data, Bytes bytes, std::uint64_t content) {
  for (Bytes at = 0; at < bytes; at += 8) {
    const std::uint64_t word = pattern_word(content, at);
    if (std::memcmp(data + at, &word, bytes - at < 8 ? bytes - at : 8) != 0) return false;
  }
  return true;
}

}  // namespace fheres::lockstep
