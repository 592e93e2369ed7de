#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/plaintext.hpp>

namespace fheres::ckks {

/// How a message becomes a plaintext.
struct Encoding {
  scheme::PlaintextForm form = scheme::PlaintextForm::prepared;
  /// Sparse packing: the message has so many slots, a power of two, and repeats in all N/2; 0: all of them.
  /// Then only every (N/2 / slots)-th coefficient of the polynomial is not zero.
  std::uint64_t slots = 0;
};

/// Messages to plaintexts and back, on the host. A message has up to N/2 slots, slot j being the value at
/// zeta^(5^j), zeta = exp(i pi / N); missing slots are zero.
///
/// IEEE doubles in a fixed order, roots of unity from integers, rounding half to even: the same residues on
/// every machine. The error of a round trip is that of rounding coefficients, about sqrt(N / 12) / scale a
/// slot, and of doubles, about 1e-15 of the largest slot. Thread safe.
class Encoder {
 public:
  explicit Encoder(Context host);

  /// scheme::ParameterError: too many values, a value that is not finite, a number of slots that is no power
  /// of two up to N/2, coefficients that do not fit the level, or 64 bits where the form is compact.
  Plaintext encode(std::span<const double> message, int level, const scheme::Scale& scale,
                   const Encoding& encoding = {}) const;
  Plaintext encode(std::span<const std::complex<double>> message, int level, const scheme::Scale& scale,
                   const Encoding& encoding = {}) const;

  /// All N/2 slots of a plaintext of any form; `decode_real` leaves imaginary parts out. With a number of
  /// slots, as in Encoding, the slots of a sparsely packed message: what stands in the other coefficients,
  /// errors, is dropped.
  std::vector<std::complex<double>> decode(const PlaintextView& plaintext, std::uint64_t slots = 0) const;
  std::vector<double> decode_real(const PlaintextView& plaintext, std::uint64_t slots = 0) const;

 private:
  struct Roots;
  template <class Number>
  Plaintext encode_any(std::span<const Number> message, int level, const scheme::Scale& scale,
                       const Encoding& encoding) const;
  std::uint64_t check_slots(std::uint64_t slots) const;
  std::vector<double> coefficients_of(const PlaintextView& plaintext) const;

  Context host_;
  std::shared_ptr<const Roots> roots_;
};

}  // namespace fheres::ckks
