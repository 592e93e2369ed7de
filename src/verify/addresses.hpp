#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fheres/base/bytes.hpp>

namespace fheres::verify {

/// Who has which addresses of one location: first fit in whole granules, from the high end for what arrives later, sliding
/// where only that makes a piece (R27).
class Addresses {
 public:
  using Key = std::uint64_t;  // of a block, the caller's
  using Slides = std::function<bool(Key)>;

  explicit Addresses(Bytes capacity);

  /// Bytes that slid, or nothing where there is no piece even so. Nothing bytes take no room.
  std::optional<Bytes> take(Key key, Bytes bytes, const Slides& slides, bool from_the_high_end = false);
  /// Unknown keys have no block: nothing.
  void free(Key key);
  void rename(Key from, Key to);
  /// The most that sliding could bring together.
  Bytes reachable(const Slides& slides) const;
  /// What does not slide, by address.
  std::vector<Key> fixed(const Slides& slides) const;

 private:
  struct Block {
    Bytes bytes;
    Key key;
  };
  std::optional<Bytes> fit(Bytes bytes, bool from_the_high_end) const;
  void put(Key key, Bytes at, Bytes bytes);
  std::optional<Bytes> slide(Bytes bytes, const Slides& slides);

  Bytes capacity_;
  std::map<Bytes, Block> blocks_;  // by address
  std::map<Bytes, Bytes> gaps_;    // address to bytes, none beside another
  std::unordered_map<Key, Bytes> where_;
};

}  // namespace fheres::verify
