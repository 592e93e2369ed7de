#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fheres::ckks {

/// The key of one ChaCha20 stream. Wiped when it goes.
struct Seed {
  std::array<unsigned char, 32> bytes{};
  Seed() = default;
  Seed(const Seed&) = default;
  Seed& operator=(const Seed&) = default;
  ~Seed();

  const std::byte* data() const { return std::as_bytes(std::span(bytes)).data(); }
};

/// Names one draw. Two draws with one label from one document seed are the same draw, so whatever may differ
/// between two uses stands in the label.
struct Label {
  std::string_view purpose;  // `secret`, `key-error`, ...
  std::string_view name;     // of the value
  int level = 0;
  std::string_view parameters;          // their id
  std::span<const std::byte> detail{};  // anything else, for example the message that is encrypted
};

/// Where the client's randomness comes from: the operating system, or, only where a document asks for it, a
/// seed.
class Randomness {
 public:
  /// Every seed is fresh entropy of the operating system; labels do not matter.
  static Randomness from_system();
  /// Seeds are a keyed BLAKE2b of the label under the document's seed: one way, so that a public seed tells
  /// nothing of the document's or of any other.
  static Randomness from_document(std::uint64_t seed);

  bool reproducible() const { return reproducible_; }
  Seed seed(const Label& label) const;

 private:
  Randomness() = default;
  bool reproducible_ = false;
  Seed root_;
};

}  // namespace fheres::ckks
