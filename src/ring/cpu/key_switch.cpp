#include <algorithm>
#include <array>
#include <bit>

#include <fheres/ring/automorphism.hpp>

#include "ring/cpu/backend.hpp"
#include "ring/cpu/thread_pool.hpp"
#include "ring/cpu/transform.hpp"
#include "ring/shapes.hpp"

namespace fheres::ring::cpu {
namespace {

// Coefficients that are summed together: their 128-bit sums stay in the first-level cache.
constexpr std::size_t kChunk = 512;

std::size_t size(int value) { return static_cast<std::size_t>(value); }

// Positions [first, first + count) of x(X^exponent).
void gather(const std::uint64_t* x, Automorphism automorphism, std::size_t first, std::size_t count,
            int log_n, std::uint64_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = x[automorphism_source(static_cast<std::uint32_t>(first + i), automorphism.exponent, log_n)];
  }
}

// Positions [first, first + count) of a source's limb.
void read_source(const Source& source, int limb, std::size_t first, std::size_t count, const Basis& basis,
                 std::uint64_t* out) {
  const std::uint64_t* x = source.values.at(limb, 0);
  if (source.factor.data != nullptr) {
    const scheme::Modulus& q = basis.prime(source.values.first_prime + limb);
    const std::uint64_t* y = source.factor.at(limb, 0);
    for (std::size_t i = 0; i < count; ++i) out[i] = mul_barrett(x[first + i], y[first + i], q);
  } else if (source.automorphism.exponent != 1) {
    gather(x, source.automorphism, first, count, basis.log_n(), out);
  } else {
    std::copy_n(x + first, count, out);
  }
}

// The centred remainder y - h, y in [0, q), modulo another prime.
std::uint64_t recentre(std::uint64_t y, std::uint64_t half, const scheme::Modulus& t) {
  return y >= half ? reduce_word(y - half, t) : reduce_word((t.value - reduce_word(half - y, t)), t);
}

}  // namespace

void CpuBackend::decompose(const Source& source, Digits out, const memory::Stream& stream) const {
  shapes::decompose(basis(), source, out);
  const int limbs = source.values.limbs;
  run(stream, [this, source, out, limbs] {
    const Basis& b = basis();
    parallel_for(size(limbs), [&](std::size_t index) {
      const int limb = static_cast<int>(index);
      const int a = b.digit_limbs();
      const int active = std::min(a, limbs - limb / a * a);
      const int prime = b.special_limbs() + limb;
      const Shoup factor = b.conversion().up_inverse[size(active - 1) * size(b.q_limbs()) + index];
      std::uint64_t* x = out.at(limb, a);
      read_source(source, limb, 0, b.n(), b, x);
      cpu::inverse(x, b.ntt(prime), b.log_n(), b.prime(prime), factor.value);
      const std::uint64_t half = b.conversion().up_half[index];
      for (std::size_t n = 0; n < b.n(); ++n) x[n] = add_reduced(x[n], half, b.prime(prime).value);
    });
  });
}

void CpuBackend::mod_up(ConstDigits digits, View out, const memory::Stream& stream) const {
  shapes::mod_up(basis(), digits, out);
  const int d = out.polynomials;
  run(stream, [this, digits, out, d] {
    const Basis& b = basis();
    const int a = b.digit_limbs();
    parallel_for(size(out.limbs) * size(d), [&](std::size_t index) {
      const int limb = static_cast<int>(index) / d;
      const int digit = static_cast<int>(index) % d;
      const int prime = out.first_prime + limb;
      const int own = prime - b.special_limbs();  // as a Q limb; negative for special primes
      if (own >= 0 && own / a == digit) return;
      const int first = digit * a;
      const int active = std::min(a, digits.limbs - first);
      const scheme::Modulus& t = b.prime(prime);
      const std::uint64_t* factors =
          b.conversion().up_factor.data() +
          (size(active - 1) * size(b.prime_count()) + size(prime)) * size(b.q_limbs()) + size(first);
      const std::uint64_t offset =
          b.conversion().up_offset[(size(active - 1) * size(b.prime_count()) + size(prime)) *
                                       size(b.digits(b.q_limbs())) +
                                   size(digit)];
      std::uint64_t* z = out.at(limb, digit);
      if (active == 1) {  // the factor is 1, and the sum stays below 2^62
        const std::uint64_t* x = digits.at(first, a);
        for (std::size_t i = 0; i < b.n(); ++i) z[i] = reduce_word(x[i] + offset, t);
      } else {
        std::array<Wide, kChunk> sums;
        for (std::size_t start = 0; start < b.n(); start += kChunk) {
          const std::size_t count = std::min(kChunk, b.n() - start);
          std::fill_n(sums.begin(), count, static_cast<Wide>(offset));
          for (int i = 0; i < active; ++i) {
            const std::uint64_t* x = digits.at(first + i, a) + start;
            const std::uint64_t factor = factors[i];
            for (std::size_t c = 0; c < count; ++c) sums[c] += static_cast<Wide>(x[c]) * factor;
          }
          for (std::size_t c = 0; c < count; ++c) z[start + c] = reduce_wide(sums[c], t);
        }
      }
      cpu::forward(z, b.ntt(prime), b.log_n(), t.value);
    });
  });
}

void CpuBackend::key_product(ConstView extended, const Source& source, const std::uint64_t* key,
                             int key_digits, View out, const memory::Stream& stream) const {
  shapes::key_product(basis(), extended, source, key, key_digits, out);
  product(extended, {}, source, key, key_digits, {}, out, stream);
}

void CpuBackend::hoisted_product(ConstView extended, const Source& source, const std::uint64_t* key,
                                 int key_digits, View out, const memory::Stream& stream) const {
  shapes::hoisted_product(basis(), extended, source, key, key_digits, out);
  product(extended, source.automorphism, source, key, key_digits, {}, out, stream);
}

void CpuBackend::hoisted_products(ConstView extended, ConstView source, ConstView addend,
                                  std::span<const Rotation> rotations, const memory::Stream& stream) const {
  shapes::hoisted_products(basis(), extended, source, addend, rotations);
  for (const auto& [turn, key, key_digits, out] : rotations) {
    product(extended, turn, {source, turn, {}}, key, key_digits, addend, out, stream);
  }
}

void CpuBackend::product(ConstView extended, Automorphism automorphism, const Source& source,
                         const std::uint64_t* key, int key_digits, ConstView addend, View out,
                         const memory::Stream& stream) const {
  const int d = extended.polynomials;
  run(stream, [this, extended, automorphism, source, key, key_digits, addend, out, d] {
    const Basis& b = basis();
    const std::size_t chunks = (b.n() + kChunk - 1) / kChunk;
    parallel_for(size(out.limbs) * chunks, [&](std::size_t index) {
      const int limb = static_cast<int>(index / chunks);
      const std::size_t start = index % chunks * kChunk;
      const std::size_t count = std::min(kChunk, b.n() - start);
      const int prime = out.first_prime + limb;
      const int own = prime - b.special_limbs();
      std::array<std::uint64_t, kChunk> held;
      std::array<Wide, kChunk> sums0;
      std::array<Wide, kChunk> sums1;
      std::fill_n(sums0.begin(), count, Wide{0});
      std::fill_n(sums1.begin(), count, Wide{0});
      if (addend.data != nullptr && prime >= addend.first_prime) {
        gather(addend.at(prime - addend.first_prime, 0), automorphism, start, count, b.log_n(), held.data());
        std::copy_n(held.begin(), count, sums0.begin());
      }
      for (int digit = 0; digit < d; ++digit) {
        const std::uint64_t* x = extended.at(limb, digit) + start;
        if (own >= 0 && own / b.digit_limbs() == digit) {
          read_source(source, own, start, count, b, held.data());
          x = held.data();
        } else if (automorphism.exponent != 1) {
          gather(extended.at(limb, digit), automorphism, start, count, b.log_n(), held.data());
          x = held.data();
        }
        const std::size_t row = size(prime) * 2 * size(key_digits) + size(digit);
        const std::uint64_t* key0 = key + row * b.n() + start;
        const std::uint64_t* key1 = key0 + size(key_digits) * b.n();
        for (std::size_t c = 0; c < count; ++c) {
          sums0[c] += static_cast<Wide>(x[c]) * key0[c];
          sums1[c] += static_cast<Wide>(x[c]) * key1[c];
        }
      }
      const scheme::Modulus& q = b.prime(prime);
      for (std::size_t c = 0; c < count; ++c) out.at(limb, 0)[start + c] = reduce_wide(sums0[c], q);
      for (std::size_t c = 0; c < count; ++c) out.at(limb, 1)[start + c] = reduce_wide(sums1[c], q);
    });
  });
}

void CpuBackend::begin_mod_down(View special, const memory::Stream& stream) const {
  shapes::begin_mod_down(basis(), special);
  run(stream, [this, special] {
    const Basis& b = basis();
    parallel_for(size(special.limbs) * size(special.polynomials), [&](std::size_t index) {
      const int limb = static_cast<int>(index) / special.polynomials;
      const scheme::Modulus& p = b.prime(limb);
      const std::uint64_t factor = b.conversion().down_inverse[size(limb)].value;
      const std::uint64_t half = mul_barrett(b.conversion().special_half[size(limb)], factor, p);
      std::uint64_t* x = special.at(limb, static_cast<int>(index) % special.polynomials);
      cpu::inverse(x, b.ntt(limb), b.log_n(), p, factor);
      for (std::size_t i = 0; i < b.n(); ++i) x[i] = add_reduced(x[i], half, p.value);
    });
  });
}

void CpuBackend::mod_down(ConstView special, View values, ConstView addend, Automorphism automorphism,
                          View tile, const memory::Stream& stream) const {
  shapes::mod_down(basis(), special, values, addend, automorphism, tile);
  run(stream, [this, special, values, addend, automorphism, tile] {
    const Basis& b = basis();
    const ConversionTables& tables = b.conversion();
    const int k = b.special_limbs();
    parallel_for(size(values.limbs) * size(values.polynomials), [&](std::size_t index) {
      const int limb = static_cast<int>(index) / values.polynomials;
      const int polynomial = static_cast<int>(index) % values.polynomials;
      const int prime = values.first_prime + limb;
      const scheme::Modulus& t = b.prime(prime);
      const std::uint64_t* factors = tables.down_factor.data() + size(prime) * size(k);
      const std::uint64_t minus_half = t.value - tables.special_half[size(prime)];
      const std::uint64_t minus_special = t.value - tables.special[size(prime)];
      std::uint64_t* z = tile.at(limb, polynomial);
      std::array<Wide, kChunk> sums;
      std::array<Wide, kChunk> counts;
      for (std::size_t start = 0; start < b.n(); start += kChunk) {
        const std::size_t chunk = std::min(kChunk, b.n() - start);
        std::fill_n(sums.begin(), chunk, static_cast<Wide>(minus_half));
        std::fill_n(counts.begin(), chunk, Wide{0});
        for (int s = 0; s < k; ++s) {
          const std::uint64_t* w = special.at(s, polynomial) + start;
          const std::uint64_t factor = factors[s];
          const std::uint64_t ratio = tables.down_ratio[size(s)];
          const int shift = static_cast<int>(std::bit_width(b.prime(s).value)) - 1;
          for (std::size_t c = 0; c < chunk; ++c) {
            sums[c] += static_cast<Wide>(w[c]) * factor;
            counts[c] += (static_cast<Wide>(w[c]) * ratio) >> shift;
          }
        }
        for (std::size_t c = 0; c < chunk; ++c) {
          const auto overflow = static_cast<std::uint64_t>(counts[c] >> 64);
          z[start + c] = reduce_wide(sums[c] + static_cast<Wide>(overflow) * minus_special, t);
        }
      }
      cpu::forward(z, b.ntt(prime), b.log_n(), t.value);
      const Shoup inverse = tables.special_inverse[size(prime)];
      std::uint64_t* x = values.at(limb, polynomial);
      const bool adds = addend.data != nullptr && polynomial < addend.polynomials;
      for (std::size_t i = 0; i < b.n(); ++i) x[i] = mul_shoup(x[i] + t.value - z[i], inverse, t.value);
      if (!adds) return;
      const std::uint64_t* y = addend.at(limb, polynomial);
      if (automorphism.exponent == 1) {
        for (std::size_t i = 0; i < b.n(); ++i) x[i] = add_reduced(x[i], y[i], t.value);
      } else {
        for (std::size_t i = 0; i < b.n(); ++i) {
          const auto from =
              automorphism_source(static_cast<std::uint32_t>(i), automorphism.exponent, b.log_n());
          x[i] = add_reduced(x[i], y[from], t.value);
        }
      }
    });
  });
}

void CpuBackend::rescale(ConstView in, std::uint64_t multiplier, View out, View last,
                         const memory::Stream& stream) const {
  shapes::rescale(basis(), in, out, last);
  run(stream, [this, in, multiplier, out, last] {
    const Basis& b = basis();
    const scheme::Modulus& dropped = b.prime(last.first_prime);
    const std::uint64_t half = (dropped.value - 1) / 2;
    parallel_for(size(in.polynomials), [&](std::size_t index) {
      const int polynomial = static_cast<int>(index);
      std::uint64_t* x = last.at(0, polynomial);
      std::copy_n(in.at(in.limbs - 1, polynomial), b.n(), x);
      cpu::inverse(x, b.ntt(last.first_prime), b.log_n(), dropped, reduce_word(multiplier, dropped));
      for (std::size_t i = 0; i < b.n(); ++i) x[i] = add_reduced(x[i], half, dropped.value);
    });
    parallel_for(size(out.limbs) * size(out.polynomials), [&](std::size_t index) {
      const int limb = static_cast<int>(index) / out.polynomials;
      const int polynomial = static_cast<int>(index) % out.polynomials;
      const int prime = out.first_prime + limb;
      const scheme::Modulus& t = b.prime(prime);
      const Shoup divisor = b.conversion().last_inverse[size(in.limbs - 1) * size(b.q_limbs()) + size(limb)];
      const std::uint64_t* y = last.at(0, polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      for (std::size_t i = 0; i < b.n(); ++i) z[i] = recentre(y[i], half, t);
      cpu::forward(z, b.ntt(prime), b.log_n(), t.value);
      const std::uint64_t* x = in.at(limb, polynomial);
      if (multiplier == 1) {
        for (std::size_t i = 0; i < b.n(); ++i) z[i] = mul_shoup(x[i] + t.value - z[i], divisor, t.value);
      } else {
        const Shoup factor = make_shoup(reduce_word(multiplier, t), t.value);
        for (std::size_t i = 0; i < b.n(); ++i) {
          z[i] = mul_shoup(mul_shoup(x[i], factor, t.value) + t.value - z[i], divisor, t.value);
        }
      }
    });
  });
}

void CpuBackend::begin_rescale(View last, const memory::Stream& stream) const {
  shapes::begin_rescale(basis(), last);
  run(stream, [this, last] {
    const Basis& b = basis();
    const scheme::Modulus& dropped = b.prime(last.first_prime);
    const std::uint64_t half = (dropped.value - 1) / 2;
    parallel_for(size(last.polynomials), [&](std::size_t index) {
      std::uint64_t* x = last.at(0, static_cast<int>(index));
      cpu::inverse(x, b.ntt(last.first_prime), b.log_n(), dropped);
      for (std::size_t i = 0; i < b.n(); ++i) x[i] = add_reduced(x[i], half, dropped.value);
    });
  });
}

void CpuBackend::finish_rescale(ConstView last, View values, View tile, const memory::Stream& stream) const {
  shapes::finish_rescale(basis(), last, values, tile);
  run(stream, [this, last, values, tile] {
    const Basis& b = basis();
    const std::uint64_t half = (b.prime(last.first_prime).value - 1) / 2;
    const Shoup* divisors =
        b.conversion().last_inverse.data() + size(last.first_prime - b.special_limbs()) * size(b.q_limbs());
    parallel_for(size(values.limbs) * size(values.polynomials), [&](std::size_t index) {
      const int limb = static_cast<int>(index) / values.polynomials;
      const int polynomial = static_cast<int>(index) % values.polynomials;
      const int prime = values.first_prime + limb;
      const scheme::Modulus& t = b.prime(prime);
      const Shoup divisor = divisors[prime - b.special_limbs()];
      const std::uint64_t* y = last.at(0, polynomial);
      std::uint64_t* z = tile.at(limb, polynomial);
      for (std::size_t i = 0; i < b.n(); ++i) z[i] = recentre(y[i], half, t);
      cpu::forward(z, b.ntt(prime), b.log_n(), t.value);
      std::uint64_t* x = values.at(limb, polynomial);
      for (std::size_t i = 0; i < b.n(); ++i) x[i] = mul_shoup(x[i] + t.value - z[i], divisor, t.value);
    });
  });
}

}  // namespace fheres::ring::cpu
