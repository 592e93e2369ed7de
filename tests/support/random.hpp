#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace fheres::test {

/// The seed of a randomised test: FHERES_TEST_SEED, or the given one. Print it where the test can fail.
inline std::uint64_t test_seed(std::uint64_t otherwise) {
  const char* text = std::getenv("FHERES_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// Draws that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// From 0 to below - 1; below is at least 1.
  std::uint64_t below(std::uint64_t below) { return engine_() % below; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace fheres::test
