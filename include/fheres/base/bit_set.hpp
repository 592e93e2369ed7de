#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fheres {

/// A set of small numbers, one bit each, that grows as it needs. A copy takes an eighth of a byte for each number up to
/// the largest.
class BitSet {
 public:
  void set(std::size_t i, bool in) {
    if (i / 64 >= words_.size()) {
      if (!in) return;
      words_.resize(i / 64 + 1);
    }
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if (in) {
      words_[i / 64] |= bit;
    } else {
      words_[i / 64] &= ~bit;
    }
  }
  bool has(std::size_t i) const { return i / 64 < words_.size() && (words_[i / 64] >> (i % 64) & 1) != 0; }

  /// Calls `each` with every number, ascending. The set does not change meanwhile.
  template <class Each>
  void for_each(const Each& each) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        each(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }

  /// Calls `each` with every number that is in one of the two and not in the other, ascending.
  template <class Each>
  void for_each_difference(const BitSet& other, const Each& each) const {
    const auto word = [](const BitSet& set, std::size_t w) {
      return w < set.words_.size() ? set.words_[w] : 0;
    };
    for (std::size_t w = 0; w < std::max(words_.size(), other.words_.size()); ++w) {
      for (std::uint64_t rest = word(*this, w) ^ word(other, w); rest != 0; rest &= rest - 1)
        each(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }

  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  }
  /// Of the same numbers, whatever was in them meanwhile.
  friend bool operator==(const BitSet& a, const BitSet& b) {
    const auto& longer = a.words_.size() < b.words_.size() ? b.words_ : a.words_;
    const auto& shorter = a.words_.size() < b.words_.size() ? a.words_ : b.words_;
    const auto end = longer.begin() + static_cast<std::ptrdiff_t>(shorter.size());
    return std::equal(shorter.begin(), shorter.end(), longer.begin()) &&
           std::all_of(end, longer.end(), [](std::uint64_t word) { return word == 0; });
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace fheres
