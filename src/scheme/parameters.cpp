#include <cmath>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/scheme/parameters.hpp>
#include <fheres/scheme/security.hpp>

#include "prime_chain.hpp"
#include "secret.hpp"

namespace fheres::scheme {

struct Parameters::State {
  ParametersLiteral literal;
  std::vector<Modulus> q;
  std::vector<Modulus> p;
  std::vector<Scale> canonical;
  int digit_limbs = 0;
  double log_qp = 0;
  std::vector<double> log_q;  // of so many limbs
  std::optional<int> security_bound;
  std::string id;
};

namespace {

constexpr int kMinPrimeBits = 20;
constexpr int kMaxPrimeBits = 60;
// Key-switch noise may exceed that of a fresh encryption by this factor, no more.
constexpr double kMaxKeySwitchRatio = 16;
constexpr double kErrorVariance = kErrorHalfWidth / 2.0;

int nominal_bits(const PrimeSpec& spec) {
  return spec.value ? static_cast<int>(std::lround(std::log2(static_cast<double>(*spec.value)))) : spec.bits;
}

ParametersLiteral with_sizes(ParametersLiteral literal) {
  for (auto* part : {&literal.q, &literal.p}) {
    for (PrimeSpec& spec : *part) spec.bits = nominal_bits(spec);
  }
  return literal;
}

void check_shape(const ParametersLiteral& literal) {
  if (literal.log_n < 10 || literal.log_n > 17) {
    throw ParameterError(fmt::format("log_n is {}, expected 10 to 17", literal.log_n));
  }
  if (literal.q.empty()) throw ParameterError("q has no primes, expected a base prime");
  if (literal.q.size() < 2)
    throw ParameterError("q has 1 prime and so no level to compute with, expected 2 or more");
  if (literal.p.empty()) throw ParameterError("p has no primes, expected at least one special prime");
  if (literal.q.size() + literal.p.size() > 256) {
    throw ParameterError(
        fmt::format("q and p have {} primes, expected at most 256", literal.q.size() + literal.p.size()));
  }
  for (const auto* part : {&literal.q, &literal.p}) {
    for (const PrimeSpec& spec : *part) {
      if (spec.bits < kMinPrimeBits || spec.bits > kMaxPrimeBits) {
        throw ParameterError(fmt::format("a prime of {} bits is asked for, expected {} to {}", spec.bits,
                                         kMinPrimeBits, kMaxPrimeBits));
      }
    }
  }
  const int base_bits = literal.q.front().bits;
  if (literal.scale_bits < kMinPrimeBits || literal.scale_bits > kMaxPrimeBits - 2) {
    throw ParameterError(fmt::format("scale_bits is {}, expected {} to {}", literal.scale_bits, kMinPrimeBits,
                                     kMaxPrimeBits - 2));
  }
  if (base_bits - literal.scale_bits < 2) {
    throw ParameterError(
        fmt::format("the base prime has {} bits and the scale {}: at least 2 more are needed", base_bits,
                    literal.scale_bits));
  }
  const int limbs = static_cast<int>(literal.q.size());
  if (literal.digit_limbs < 0 || literal.digit_limbs > limbs) {
    throw ParameterError(fmt::format("digit_limbs is {}, expected 1 to {}", literal.digit_limbs, limbs));
  }
}

/// The largest a whose digits' nominal sizes each sum to at most P's; at least 1.
int default_digit_limbs(const ParametersLiteral& literal) {
  int special_bits = 0;
  for (const PrimeSpec& spec : literal.p) special_bits += spec.bits;
  const auto fits = [&](std::size_t a) {
    for (std::size_t first = 0; first < literal.q.size(); first += a) {
      int sum = 0;
      for (std::size_t i = first; i < std::min(first + a, literal.q.size()); ++i) sum += literal.q[i].bits;
      if (sum > special_bits) return false;
    }
    return true;
  };
  int best = 1;
  for (std::size_t a = 2; a <= literal.q.size(); ++a) {
    if (fits(a)) best = static_cast<int>(a);
  }
  return best;
}

/// A name for exactly these numbers: FNV-1a over their text. It tells parameter sets apart; it guards nothing.
std::string identity(const ParametersLiteral& literal, const PrimeChain& chain, int digit_limbs) {
  std::string text = fmt::format("n{} s{} a{}", literal.log_n, literal.scale_bits, digit_limbs);
  for (std::uint64_t prime : chain.q) text += fmt::format(" q{}", prime);
  for (std::uint64_t prime : chain.p) text += fmt::format(" p{}", prime);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return fmt::format("{:016x}", hash);
}

double log2_of(const std::vector<Modulus>& primes) {
  double sum = 0;
  for (const Modulus& prime : primes) sum += std::log2(static_cast<double>(prime.value));
  return sum;
}

std::string table_name(SecurityTable table) {
  return table == SecurityTable::he_standard_2018 ? "he-standard-2018" : "guidelines-2024";
}

}  // namespace

Parameters Parameters::make(const ParametersLiteral& unchecked) {
  const ParametersLiteral literal = with_sizes(unchecked);
  check_shape(literal);
  const PrimeChain chain = find_primes(literal);
  auto state = std::make_shared<State>();
  state->literal = literal;
  for (std::uint64_t prime : chain.q) state->q.push_back(Modulus::make(prime));
  for (std::uint64_t prime : chain.p) state->p.push_back(Modulus::make(prime));
  state->canonical = chain.canonical;
  if (literal.scale_management == ScaleManagement::manual) {
    state->canonical.assign(chain.canonical.size(), Scale::power_of_two(literal.scale_bits));
  }
  state->digit_limbs = literal.digit_limbs != 0 ? literal.digit_limbs : default_digit_limbs(literal);
  state->log_qp = log2_of(state->q) + log2_of(state->p);
  state->log_q.push_back(0);
  for (const auto& prime : state->q)
    state->log_q.push_back(state->log_q.back() + std::log2(static_cast<double>(prime.value)));
  state->security_bound = max_log_qp(literal.security, literal.log_n);
  state->id = identity(literal, chain, state->digit_limbs);
  if (state->security_bound && state->log_qp > *state->security_bound) {
    throw SecurityError(
        fmt::format("log2(QP) is {:.1f} bits, and {} allows {} for N = 2^{} at 128-bit security",
                    state->log_qp, table_name(literal.security), *state->security_bound, literal.log_n),
        state->log_qp, *state->security_bound);
  }
  Parameters parameters(std::move(state));
  const double noise = parameters.key_switch_deviation(0);
  const double fresh = parameters.fresh_deviation();
  if (noise > kMaxKeySwitchRatio * fresh) {
    throw ParameterError(
        fmt::format("key-switch noise has deviation 2^{:.1f}, more than {} times the 2^{:.1f} of a fresh "
                    "encryption: digits of {} "
                    "limbs are too large for P",
                    std::log2(noise), kMaxKeySwitchRatio, std::log2(fresh), parameters.digit_limbs()));
  }
  return parameters;
}

const std::string& Parameters::name() const { return state_->literal.name; }
int Parameters::log_n() const { return state_->literal.log_n; }
std::uint64_t Parameters::n() const { return std::uint64_t{1} << state_->literal.log_n; }
std::span<const Modulus> Parameters::q() const { return state_->q; }
std::span<const Modulus> Parameters::p() const { return state_->p; }

const Modulus& Parameters::prime(int index) const {
  FHERES_CHECK(index >= 0 && index < prime_count());
  const auto i = static_cast<std::size_t>(index);
  return i < state_->q.size() ? state_->q[i] : state_->p[i - state_->q.size()];
}

int Parameters::prime_count() const { return static_cast<int>(state_->q.size() + state_->p.size()); }
int Parameters::max_level() const { return static_cast<int>(state_->q.size()) - 1; }

int Parameters::limbs(int level) const {
  FHERES_CHECK(level >= 0 && level <= max_level());
  return static_cast<int>(state_->q.size()) - level;
}

int Parameters::special_limbs() const { return static_cast<int>(state_->p.size()); }
int Parameters::digit_limbs() const { return state_->digit_limbs; }
int Parameters::digits(int level) const { return (limbs(level) + digit_limbs() - 1) / digit_limbs(); }
int Parameters::scale_bits() const { return state_->literal.scale_bits; }

const Scale& Parameters::canonical_scale(int level) const {
  FHERES_CHECK(level >= 0 && level <= max_level());
  return state_->canonical[static_cast<std::size_t>(level)];
}

ScaleManagement Parameters::scale_management() const { return state_->literal.scale_management; }
SecurityTable Parameters::security() const { return state_->literal.security; }
double Parameters::log_qp() const { return state_->log_qp; }
std::optional<int> Parameters::security_bound() const { return state_->security_bound; }

double Parameters::log_q(int level) const { return state_->log_q[static_cast<std::size_t>(limbs(level))]; }

double Parameters::key_switch_deviation(int level) const {
  const double log_p = log2_of(state_->p);
  const double degree = static_cast<double>(n());
  double variance = 0;
  for (int first = 0; first < limbs(level); first += digit_limbs()) {
    double log_digit = 0;
    const int last = std::min(first + digit_limbs(), limbs(level));
    for (int i = first; i < last; ++i) log_digit += std::log2(static_cast<double>(prime(i).value));
    const double size = last - first;
    variance += std::exp2(2 * (log_digit - log_p)) * (size * size / 4 + size / 12);
  }
  // Dividing by P rounds both components, and the second meets the secret.
  const double rounding = (1 + kSecretVariance * degree) / 12;
  return std::sqrt(kErrorVariance * degree * variance + rounding);
}

double Parameters::fresh_deviation() const {
  // v * e + e0 + e1 * s with v and s ternary.
  return std::sqrt(kErrorVariance * (2 * kSecretVariance * static_cast<double>(n()) + 1));
}

const std::string& Parameters::id() const { return state_->id; }

}  // namespace fheres::scheme
