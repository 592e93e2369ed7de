#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fheres/base/error.hpp>
#include <fheres/scheme/modulus.hpp>
#include <fheres/scheme/scale.hpp>

namespace fheres::scheme {

/// Code `scheme/parameters`.
class ParameterError : public Error {
 public:
  explicit ParameterError(const std::string& message) : Error("scheme/parameters", message) {}
};

/// log2(QP) is above what the table allows. Code `scheme/parameters`, both figures as fields.
class SecurityError : public ParameterError {
 public:
  SecurityError(const std::string& message, double log_qp_, int bound_)
      : ParameterError(message), log_qp(log_qp_), bound(bound_) {}
  double log_qp;
  int bound;
};

/// One prime, by its size or by its value (for interchange).
struct PrimeSpec {
  int bits = 0;
  std::optional<std::uint64_t> value;
};

/// Which table bounds log2(QP); `none` only where the document says so, and every report repeats it.
enum class SecurityTable { guidelines_2024, he_standard_2018, none };

/// automatic: every level has a canonical scale, and going down a level spends a part of the dropped prime on
/// reaching the next one. manual: scales are kept exactly as they come, and going down a level only drops a
/// prime.
enum class ScaleManagement { automatic, manual };

/// Unchecked parameters, as a document or a program states them.
struct ParametersLiteral {
  std::string name;          // the preset's, else empty
  int log_n = 0;             // ring degree N = 2^log_n, 10..17
  std::vector<PrimeSpec> q;  // the base prime, then the scale primes
  std::vector<PrimeSpec> p;  // the special primes
  int scale_bits = 0;        // the fresh scale is 2^scale_bits
  int digit_limbs = 0;       // a; 0: the largest whose digits' nominal bits sum to at most P's
  SecurityTable security = SecurityTable::guidelines_2024;
  ScaleManagement scale_management = ScaleManagement::automatic;
};

/// Checked, immutable CKKS parameters. Cheap to copy: copies share one state. Thread safe.
///
/// Limb order: q()[0] is the base prime, q()[1..] the scale primes. A value at level v has the limbs
/// q()[0 .. limbs(v)-1]; rescaling at level v divides by q()[limbs(v)-1]. Level 0 is fresh.
/// Notation of the design: l = limbs(level), k = p().size(), a = digit_limbs(), d = digits(level), u = l + k.
class Parameters {
 public:
  /// Throws ParameterError that states both figures: an insecure modulus, a chain longer than the primes that
  /// exist near the scale, too much key-switch noise, a base prime too close to the scale, and so on.
  static Parameters make(const ParametersLiteral& literal);

  const std::string& name() const;
  int log_n() const;
  std::uint64_t n() const;
  std::uint64_t slots() const { return n() / 2; }
  std::span<const Modulus> q() const;
  std::span<const Modulus> p() const;
  /// Primes by one index: q() first, then p(). The basis of a QP polynomial.
  const Modulus& prime(int index) const;
  int prime_count() const;

  /// Levels: 0 .. max_level(); limbs(level) = q().size() - level.
  int max_level() const;
  int limbs(int level) const;
  int special_limbs() const;
  int digit_limbs() const;
  int digits(int level) const;

  int scale_bits() const;
  /// How operations treat scales; not a part of id(), since it says nothing of values that exist.
  ScaleManagement scale_management() const;
  /// The scale that values are made at where nobody asks for another. automatic: the canonical one of the
  /// level, S_0 = 2^scale_bits, S_{i+1} = S_i^2 / q_i, q_i the prime that level i's rescale divides by.
  /// manual: 2^scale_bits.
  const Scale& canonical_scale(int level) const;

  SecurityTable security() const;
  double log_qp() const;
  /// log2 of the product of a level's limbs: what a message times its scale has to stay below.
  double log_q(int level) const;
  /// The table's bound on log2(QP) for this N, absent for `none`.
  std::optional<int> security_bound() const;
  /// Standard deviation of the key-switch error at a level, in the scale of the ciphertext's integers:
  /// sqrt(sigma^2 N sum_j (D_j/P)^2 (a_j^2/4 + a_j/12)) and rounding (design, page 05).
  double key_switch_deviation(int level) const;
  /// Standard deviation of a fresh public-key encryption's error, likewise.
  double fresh_deviation() const;

  /// 16 hexadecimal digits that name exactly these primes, N, scale and digits: stored with every value.
  const std::string& id() const;
  friend bool operator==(const Parameters& a, const Parameters& b) { return a.id() == b.id(); }

 private:
  struct State;
  explicit Parameters(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Error deviation of the centred binomial distribution with k = 21: sqrt(21/2).
inline constexpr int kErrorHalfWidth = 21;

}  // namespace fheres::scheme
