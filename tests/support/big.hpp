#pragma once

#include <cstdint>
#include <vector>

namespace fheres::test {

/// An unsigned integer of any size, for checking. Slow and plain: little-endian words, no leading zeros.
class Big {
 public:
  Big() = default;
  Big(std::uint64_t value) {  // NOLINT: an integer is a Big
    if (value != 0) words_.push_back(value);
  }

  Big operator+(const Big& other) const {
    Big sum;
    unsigned __int128 carry = 0;
    for (std::size_t i = 0; i < words_.size() || i < other.words_.size() || carry != 0; ++i) {
      carry += static_cast<unsigned __int128>(word(i)) + other.word(i);
      sum.words_.push_back(static_cast<std::uint64_t>(carry));
      carry >>= 64;
    }
    return sum.trimmed();
  }
  /// Needs other <= *this.
  Big operator-(const Big& other) const {
    Big difference;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const unsigned __int128 taken = static_cast<unsigned __int128>(other.word(i)) + borrow;
      borrow = taken > words_[i] ? 1 : 0;
      difference.words_.push_back(words_[i] - static_cast<std::uint64_t>(taken));
    }
    return difference.trimmed();
  }
  Big operator*(const Big& other) const {
    Big product;
    product.words_.assign(words_.size() + other.words_.size(), 0);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      unsigned __int128 carry = 0;
      for (std::size_t j = 0; j < other.words_.size(); ++j) {
        carry += static_cast<unsigned __int128>(words_[i]) * other.words_[j] + product.words_[i + j];
        product.words_[i + j] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
      product.words_[i + other.words_.size()] = static_cast<std::uint64_t>(carry);
    }
    return product.trimmed();
  }
  bool operator<(const Big& other) const {
    if (words_.size() != other.words_.size()) return words_.size() < other.words_.size();
    for (std::size_t i = words_.size(); i-- > 0;) {
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i];
    }
    return false;
  }
  friend bool operator==(const Big&, const Big&) = default;

  struct Division;
  Division divided_by(const Big& divisor) const;
  Big operator/(const Big& divisor) const;
  Big operator%(const Big& divisor) const;
  std::uint64_t operator%(std::uint64_t divisor) const {
    unsigned __int128 rest = 0;
    for (std::size_t i = words_.size(); i-- > 0;) rest = ((rest << 64) | words_[i]) % divisor;
    return static_cast<std::uint64_t>(rest);
  }

 private:
  std::uint64_t word(std::size_t i) const { return i < words_.size() ? words_[i] : 0; }
  Big trimmed() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
    return *this;
  }
  std::vector<std::uint64_t> words_;
};

struct Big::Division {
  Big quotient, rest;
};

/// Bit by bit.
inline Big::Division Big::divided_by(const Big& divisor) const {
  Division result;
  result.quotient.words_.assign(words_.size(), 0);
  for (std::size_t bit = 64 * words_.size(); bit-- > 0;) {
    result.rest = result.rest + result.rest + Big((words_[bit / 64] >> (bit % 64)) & 1);
    if (!(result.rest < divisor)) {
      result.rest = result.rest - divisor;
      result.quotient.words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }
  result.quotient.trimmed();
  return result;
}
inline Big Big::operator/(const Big& divisor) const { return divided_by(divisor).quotient; }
inline Big Big::operator%(const Big& divisor) const { return divided_by(divisor).rest; }

}  // namespace fheres::test
