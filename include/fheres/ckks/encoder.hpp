#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include <fheres/ckks/context.hpp>
#include <fheres/ckks/plaintext.hpp>

namespace fheres::ckks {

/// Messages to plaintexts and back, on the host. A message has up to N/2 slots, slot j being the value at
/// zeta^(5^j), zeta = exp(i pi / N); missing slots are zero.
///
/// IEEE doubles in a fixed order, roots of unity from integers, rounding half to even: the same residues on
/// every machine. The error of a round trip is that of rounding coefficients, about sqrt(N / 12) / scale a
/// slot, and of doubles, about 1e-15 of the largest slot. Thread safe.
class Encoder {
 public:
  explicit Encoder(Context host);

  /// scheme::ParameterError: too many slots, a value that is not finite, or coefficients that do not fit the
  /// level.
  Plaintext encode(std::span<const double> message, int level, const scheme::Scale& scale) const;
  Plaintext encode(std::span<const std::complex<double>> message, int level,
                   const scheme::Scale& scale) const;

  /// All N/2 slots of a prepared plaintext; `decode_real` leaves imaginary parts out.
  std::vector<std::complex<double>> decode(const PlaintextView& plaintext) const;
  std::vector<double> decode_real(const PlaintextView& plaintext) const;

 private:
  struct Roots;
  std::vector<double> coefficients_of(const PlaintextView& plaintext) const;

  Context host_;
  std::shared_ptr<const Roots> roots_;
};

}  // namespace fheres::ckks
