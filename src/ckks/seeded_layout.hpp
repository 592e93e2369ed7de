#pragma once

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/value.hpp>

/// Where the halves of a key or of a fresh ciphertext stand, in both forms.
namespace fheres::ckks {

/// Views of `rows` limbs. Of a full value: both components. Of a seeded one: the first, and the seed behind it.
template <class Word>
struct Halves {
  using Byte = std::conditional_t<std::is_const_v<Word>, const std::byte, std::byte>;
  ring::BasicView<Word> stored;
  ring::BasicView<Word> uniform;  // full; else null data
  Byte* seed = nullptr;           // seeded
};

template <Family family, class Word>
Halves<Word> halves(const Context& context, const ValueView<family, Word>& value) {
  const scheme::Parameters& parameters = context.parameters();
  const std::size_t n = parameters.n();
  const bool key = family == Family::key;
  const int digits = key ? parameters.digits(value.type().level) : 1;
  const int special = key ? 0 : parameters.special_limbs();
  const int rows = parameters.limbs(value.type().level) + (key ? parameters.special_limbs() : 0);
  Halves<Word> result;
  if (scheme::is_seeded(value.type())) {
    using Byte = typename Halves<Word>::Byte;
    result.stored = ring::dense_view(value.data(), special, rows, digits, n);
    result.seed = reinterpret_cast<Byte*>(value.data() + static_cast<std::size_t>(rows * digits) * n);
    return result;
  }
  const auto both = ring::dense_view(value.data(), special, rows, 2 * digits, n);
  result.stored = both.polynomial_range(0, digits);
  result.uniform = both.polynomial_range(digits, digits);
  return result;
}

}  // namespace fheres::ckks
