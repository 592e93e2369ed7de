#include "prime_chain.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <fheres/scheme/primes.hpp>

namespace fheres::scheme {
namespace {

class Chooser {
 public:
  explicit Chooser(const ParametersLiteral& literal) : step_(std::uint64_t{2} << literal.log_n) {
    for (const auto* part : {&literal.q, &literal.p}) {
      for (const PrimeSpec& spec : *part) {
        if (!spec.value) continue;
        check_explicit(*spec.value, literal.log_n);
        if (!taken_.insert(*spec.value).second) {
          throw ParameterError(fmt::format("prime {} is given twice", *spec.value));
        }
      }
    }
  }

  std::uint64_t largest_below(int bits) {
    std::uint64_t bound = std::uint64_t{1} << bits;
    while (const auto found = previous_prime(bound, step_, lower_limit(bits))) {
      if (taken_.insert(*found).second) return *found;
      bound = *found;
    }
    throw too_few(bits);
  }

  std::uint64_t nearest(const Scale& target, int bits) {
    const std::uint64_t centre = target.whole();
    const auto low = free_below(centre + 1, bits);
    const auto high = free_above(centre, bits);
    if (!low && !high) throw too_few(bits);
    std::uint64_t best = low ? *low : *high;
    if (low && high) {
      // Both are 1 mod 2N, so the two distances from the target's whole part differ by an even number: its
      // fraction decides only between equal ones.
      const std::uint64_t down = centre - *low;
      const std::uint64_t up = *high - centre;
      best = down < up || (down == up && target.is_whole()) ? *low : *high;
    }
    taken_.insert(best);
    return best;
  }

 private:
  void check_explicit(std::uint64_t prime, int log_n) const {
    if (prime >= std::uint64_t{1} << 61 || !is_prime(prime)) {
      throw ParameterError(fmt::format("{} is no prime below 2^61", prime));
    }
    if (prime % step_ != 1) {
      throw ParameterError(fmt::format("prime {} is {} modulo 2N = {}, expected 1 (log_n {})", prime,
                                       prime % step_, step_, log_n));
    }
  }

  static std::uint64_t lower_limit(int bits) {
    return static_cast<std::uint64_t>(std::ldexp(M_SQRT1_2, bits));
  }
  static std::uint64_t upper_limit(int bits) { return static_cast<std::uint64_t>(std::ldexp(M_SQRT2, bits)); }

  std::optional<std::uint64_t> free_below(std::uint64_t bound, int bits) const {
    auto found = previous_prime(bound, step_, lower_limit(bits));
    while (found && taken_.count(*found) != 0) found = previous_prime(*found, step_, lower_limit(bits));
    return found;
  }
  std::optional<std::uint64_t> free_above(std::uint64_t bound, int bits) const {
    auto found = next_prime(bound, step_, upper_limit(bits));
    while (found && taken_.count(*found) != 0) found = next_prime(*found, step_, upper_limit(bits));
    return found;
  }

  ParameterError too_few(int bits) const {
    const auto in_use = std::count_if(taken_.begin(), taken_.end(), [&](std::uint64_t prime) {
      return prime >= lower_limit(bits) && prime <= upper_limit(bits);
    });
    return ParameterError(
        fmt::format("the chain wants more primes near 2^{} than exist: {} are 1 mod {} within half a bit and "
                    "all are taken",
                    bits, in_use, step_));
  }

  std::uint64_t step_;
  std::set<std::uint64_t> taken_;
};

}  // namespace

PrimeChain find_primes(const ParametersLiteral& literal) {
  Chooser chooser(literal);
  PrimeChain chain;
  for (const PrimeSpec& spec : literal.p) {
    chain.p.push_back(spec.value ? *spec.value : chooser.largest_below(spec.bits));
  }
  chain.q.resize(literal.q.size());
  const PrimeSpec& base = literal.q.front();
  chain.q.front() = base.value ? *base.value : chooser.largest_below(base.bits);
  chain.canonical.push_back(Scale::power_of_two(literal.scale_bits));
  // Level 0 consumes the last prime of the chain.
  for (std::size_t i = literal.q.size() - 1; i > 0; --i) {
    const PrimeSpec& spec = literal.q[i];
    const Scale scale = chain.canonical.back();
    const Scale target = spec.bits == literal.scale_bits ? scale : Scale::power_of_two(spec.bits);
    chain.q[i] = spec.value ? *spec.value : chooser.nearest(target, spec.bits);
    const Scale next = scale.times(scale).over(chain.q[i]);
    if (std::abs(next.log2() - literal.scale_bits) > 1) {
      throw ParameterError(fmt::format(
          "the scale leaves its place: after level {}'s prime {} it is {}, expected 2^{} within one bit",
          literal.q.size() - 1 - i, chain.q[i], next.text(), literal.scale_bits));
    }
    chain.canonical.push_back(next);
  }
  return chain;
}

}  // namespace fheres::scheme
