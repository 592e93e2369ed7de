#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/ring/basis.hpp>

namespace fheres::ring {
namespace {

// Product of some primes modulo another.
template <class Keep>
std::uint64_t product_mod(std::span<const scheme::Modulus> primes, const scheme::Modulus& modulus,
                          Keep keep) {
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    if (keep(i)) product = mul_barrett(product, reduce_word(primes[i].value, modulus), modulus);
  }
  return product;
}

Shoup inverse_shoup(std::uint64_t value, const scheme::Modulus& q) {
  return make_shoup(scheme::inverse_mod(value, q), q.value);
}

}  // namespace

std::shared_ptr<const Basis> Basis::make(int log_n, std::span<const scheme::Modulus> q,
                                         std::span<const scheme::Modulus> p, int digit_limbs) {
  if (log_n < 1 || log_n > 17) {
    throw std::invalid_argument(fmt::format("log_n is {}, expected 1 to 17", log_n));
  }
  if (q.empty()) throw std::invalid_argument("a basis needs at least one Q prime");
  if (digit_limbs < 1 || digit_limbs > 32) {
    throw std::invalid_argument(fmt::format("digit_limbs is {}, expected 1 to 32", digit_limbs));
  }
  if (p.size() > 32)
    throw std::invalid_argument(fmt::format("{} special primes, expected at most 32", p.size()));
  const std::shared_ptr<Basis> basis(new Basis());
  basis->log_n_ = log_n;
  basis->special_limbs_ = static_cast<int>(p.size());
  basis->digit_limbs_ = digit_limbs;
  basis->primes_.assign(p.begin(), p.end());
  basis->primes_.insert(basis->primes_.end(), q.begin(), q.end());
  if (basis->digits(basis->q_limbs()) > 63)
    throw std::invalid_argument(
        fmt::format("{} digits, expected at most 63", basis->digits(basis->q_limbs())));
  for (std::size_t i = 0; i < basis->primes_.size(); ++i) {
    const std::uint64_t value = basis->primes_[i].value;
    if ((value - 1) % (2 * basis->n()) != 0) {
      throw std::invalid_argument(fmt::format("prime {} is not 1 modulo {}", value, 2 * basis->n()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (basis->primes_[j].value == value)
        throw std::invalid_argument(fmt::format("prime {} stands twice", value));
    }
  }
  basis->ntt_.reserve(basis->primes_.size());
  for (const scheme::Modulus& prime : basis->primes_) basis->ntt_.push_back(NttTables::make(log_n, prime));
  basis->fill_conversion();
  return basis;
}

std::shared_ptr<const Basis> Basis::make(const scheme::Parameters& parameters) {
  return make(parameters.log_n(), parameters.q(), parameters.p(), parameters.digit_limbs());
}

void Basis::fill_conversion() {
  const auto count = static_cast<std::size_t>(prime_count());
  const auto k = static_cast<std::size_t>(special_limbs_);
  const std::size_t limbs = count - k;
  const auto a = static_cast<std::size_t>(digit_limbs_);
  const std::span<const scheme::Modulus> all(primes_);
  const std::span<const scheme::Modulus> p = all.first(k);
  const std::span<const scheme::Modulus> q = all.subspan(k);
  ConversionTables& tables = conversion_;

  tables.up_inverse.resize(a * limbs);
  tables.up_factor.resize(a * count * limbs);
  for (std::size_t m = 1; m <= a; ++m) {
    for (std::size_t i = 0; i < limbs; ++i) {
      const std::size_t first = i / a * a;
      if (i - first >= m || first + m > limbs) continue;
      const auto others = [&](std::size_t x) { return x >= first && x < first + m && x != i; };
      tables.up_inverse[(m - 1) * limbs + i] = inverse_shoup(product_mod(q, q[i], others), q[i]);
      for (std::size_t t = 0; t < count; ++t) {
        tables.up_factor[((m - 1) * count + t) * limbs + i] = product_mod(q, all[t], others);
      }
    }
  }

  const auto digit_count = static_cast<std::size_t>(digits(q_limbs()));
  for (const scheme::Modulus& prime : q) tables.up_half.push_back((prime.value - 1) / 2);
  tables.up_offset.resize(a * count * digit_count);
  for (std::size_t m = 1; m <= a; ++m) {
    for (std::size_t t = 0; t < count; ++t) {
      for (std::size_t j = 0; j < digit_count; ++j) {
        if (j * a + m > limbs) continue;
        std::uint64_t sum = 0;
        for (std::size_t i = j * a; i < j * a + m; ++i) {
          const std::uint64_t factor = tables.up_factor[((m - 1) * count + t) * limbs + i];
          sum = reduce_wide(static_cast<Wide>(factor) * tables.up_half[i] + sum, all[t]);
        }
        tables.up_offset[((m - 1) * count + t) * digit_count + j] = sub_reduced(0, sum, all[t].value);
      }
    }
  }

  tables.down_inverse.resize(k);
  tables.down_ratio.resize(k);
  tables.down_factor.resize(count * k);
  for (std::size_t s = 0; s < k; ++s) {
    const auto others = [&](std::size_t x) { return x != s; };
    tables.down_inverse[s] = inverse_shoup(product_mod(p, p[s], others), p[s]);
    const auto bits = static_cast<int>(std::bit_width(p[s].value));
    tables.down_ratio[s] = static_cast<std::uint64_t>((Wide{1} << (63 + bits)) / p[s].value);
    for (std::size_t t = 0; t < count; ++t) tables.down_factor[t * k + s] = product_mod(p, all[t], others);
  }
  tables.special.resize(count);
  tables.special_inverse.resize(count);
  tables.special_half.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    const scheme::Modulus& prime = all[t];
    const std::uint64_t product = product_mod(p, prime, [](std::size_t) { return true; });
    tables.special[t] = product;
    if (t >= k) tables.special_inverse[t] = inverse_shoup(product, prime);
    // P is odd, so floor(P / 2) is (P - 1) / 2; modulo t, a division by 2 of P - 1.
    const std::uint64_t even = sub_reduced(product, 1, prime.value);
    tables.special_half[t] = even % 2 == 0 ? even / 2 : even / 2 + prime.value / 2 + 1;
  }

  tables.last_inverse.resize(limbs * limbs);
  for (std::size_t last = 1; last < limbs; ++last) {
    for (std::size_t i = 0; i < last; ++i) {
      tables.last_inverse[last * limbs + i] = inverse_shoup(reduce_word(q[last].value, q[i]), q[i]);
    }
  }
}

}  // namespace fheres::ring
