#include <array>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/scheme/modulus.hpp>
#include <fheres/scheme/primes.hpp>

namespace fheres::scheme {
namespace {

using Wide = unsigned __int128;

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1;
  base %= modulus;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = static_cast<std::uint64_t>(static_cast<Wide>(result) * base % modulus);
    base = static_cast<std::uint64_t>(static_cast<Wide>(base) * base % modulus);
  }
  return result;
}

// Enough as Miller-Rabin bases for every number below 3.3 * 10^24 (Sorenson and Webster, 2015).
constexpr std::array<std::uint64_t, 12> kBases{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};

}  // namespace

bool is_prime(std::uint64_t candidate) {
  if (candidate < 2) return false;
  for (std::uint64_t base : kBases) {
    if (candidate % base == 0) return candidate == base;
  }
  const int twos = std::countr_zero(candidate - 1);
  const std::uint64_t odd = (candidate - 1) >> twos;
  for (std::uint64_t base : kBases) {
    std::uint64_t x = power(base, odd, candidate);
    if (x == 1 || x == candidate - 1) continue;
    bool witness = true;
    for (int i = 1; i < twos && witness; ++i) {
      x = static_cast<std::uint64_t>(static_cast<Wide>(x) * x % candidate);
      witness = x != candidate - 1;
    }
    if (witness) return false;
  }
  return true;
}

std::optional<std::uint64_t> previous_prime(std::uint64_t below, std::uint64_t step, std::uint64_t at_least) {
  if (below < 2) return std::nullopt;
  // The largest number 1 mod step that is below `below`.
  std::uint64_t candidate = (below - 2) / step * step + 1;
  for (; candidate >= at_least && candidate > 1; candidate -= step) {
    if (is_prime(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> next_prime(std::uint64_t above, std::uint64_t step, std::uint64_t at_most) {
  // The smallest number 1 mod step that is above `above`; the sum wraps only far beyond every modulus.
  std::uint64_t candidate = above == 0 ? 1 : ((above - 1) / step + 1) * step + 1;
  for (; candidate <= at_most && candidate > above; candidate += step) {
    if (is_prime(candidate)) return candidate;
  }
  return std::nullopt;
}

std::uint64_t smallest_primitive_root(std::uint64_t prime, std::uint64_t order) {
  if (order < 2 || !std::has_single_bit(order) || (prime - 1) % order != 0) {
    throw std::invalid_argument(fmt::format("no root of order {} modulo {}", order, prime));
  }
  const Modulus q = Modulus::make(prime);
  std::uint64_t root = 0;
  for (std::uint64_t x = 2; root == 0; ++x) {
    const std::uint64_t candidate = pow_mod(x, (prime - 1) / order, q);
    // A root of order 2^k is primitive exactly when its 2^(k-1)-th power is -1.
    if (pow_mod(candidate, order / 2, q) == prime - 1) root = candidate;
  }
  // All primitive roots are the odd powers of one of them.
  const std::uint64_t square = mul_mod(root, root, q);
  std::uint64_t smallest = root;
  for (std::uint64_t i = 1; i < order / 2; ++i) {
    root = mul_mod(root, square, q);
    if (root < smallest) smallest = root;
  }
  return smallest;
}

}  // namespace fheres::scheme
