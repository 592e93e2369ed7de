#include "ring/cpu/backend.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fheres/base/check.hpp>
#include <fheres/ring/automorphism.hpp>

#include "ring/cpu/thread_pool.hpp"
#include "ring/cpu/transform.hpp"
#include "ring/shapes.hpp"

namespace fheres::ring::cpu {
namespace {

// body(limb, polynomial) for every pair, spread over the pool.
template <class Body>
void for_each(int limbs, int polynomials, Body body) {
  const auto inner = static_cast<std::size_t>(polynomials);
  parallel_for(static_cast<std::size_t>(limbs) * inner, [&](std::size_t index) {
    body(static_cast<int>(index / inner), static_cast<int>(index % inner));
  });
}

template <class Word>
Bytes bytes_in(const std::vector<Word>& words) {
  return words.size() * sizeof(Word);
}

}  // namespace

void CpuBackend::run(const memory::Stream& stream, std::function<void()> work) const {
  if (!stream) return work();
  FHERES_CHECK(driver_ != nullptr);
  driver_->enqueue(stream, std::move(work));
}

Bytes CpuBackend::table_bytes() const {
  const ConversionTables& c = basis().conversion();
  Bytes bytes = bytes_in(c.up_inverse) + bytes_in(c.up_factor) + bytes_in(c.up_half) + bytes_in(c.up_offset) +
                bytes_in(c.down_inverse) + bytes_in(c.down_factor) + bytes_in(c.down_ratio) +
                bytes_in(c.special) + bytes_in(c.special_inverse) + bytes_in(c.special_half) +
                bytes_in(c.last_inverse);
  for (int i = 0; i < basis().prime_count(); ++i) {
    bytes += bytes_in(basis().ntt(i).forward) + bytes_in(basis().ntt(i).inverse);
  }
  return bytes;
}

void CpuBackend::forward(View values, const memory::Stream& stream) const {
  shapes::forward(basis(), values);
  run(stream, [this, values] {
    for_each(values.limbs, values.polynomials, [&](int limb, int polynomial) {
      const int prime = values.first_prime + limb;
      cpu::forward(values.at(limb, polynomial), basis().ntt(prime), basis().log_n(),
                   basis().prime(prime).value);
    });
  });
}

void CpuBackend::inverse(ConstView in, View out, const memory::Stream& stream) const {
  shapes::inverse(basis(), in, out);
  run(stream, [this, in, out] {
    for_each(in.limbs, in.polynomials, [&](int limb, int polynomial) {
      const int prime = in.first_prime + limb;
      std::uint64_t* x = out.at(limb, polynomial);
      if (x != in.at(limb, polynomial)) std::copy_n(in.at(limb, polynomial), basis().n(), x);
      cpu::inverse(x, basis().ntt(prime), basis().log_n(), basis().prime(prime));
    });
  });
}

void CpuBackend::automorphism(ConstView in, Automorphism automorphism, View out,
                              const memory::Stream& stream) const {
  shapes::automorphism(basis(), in, automorphism, out);
  run(stream, [this, in, automorphism, out] {
    for_each(in.limbs, in.polynomials, [&](int limb, int polynomial) {
      const std::uint64_t* x = in.at(limb, polynomial);
      std::uint64_t* y = out.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i) {
        y[i] = x[automorphism_source(static_cast<std::uint32_t>(i), automorphism.exponent, basis().log_n())];
      }
    });
  });
}

template <class Op>
void CpuBackend::combine(ConstView a, ConstView b, View out, const memory::Stream& stream, Op op) const {
  shapes::add(basis(), a, b, out);
  run(stream, [this, a, b, out, op] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const std::uint64_t q = basis().prime(a.first_prime + limb).value;
      const std::uint64_t* x = a.at(limb, polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      if (polynomial >= b.polynomials) {
        if (z != x) std::copy_n(x, basis().n(), z);
        return;
      }
      const std::uint64_t* y = b.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i) z[i] = op(x[i], y[i], q);
    });
  });
}

void CpuBackend::add(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  combine(a, b, out, stream, [](auto x, auto y, auto q) { return add_reduced(x, y, q); });
}

void CpuBackend::subtract(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  combine(a, b, out, stream, [](auto x, auto y, auto q) { return sub_reduced(x, y, q); });
}

void CpuBackend::negate(ConstView a, View out, const memory::Stream& stream) const {
  shapes::unary(basis(), a, out);
  run(stream, [this, a, out] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const std::uint64_t q = basis().prime(a.first_prime + limb).value;
      const std::uint64_t* x = a.at(limb, polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i) z[i] = x[i] == 0 ? 0 : q - x[i];
    });
  });
}

void CpuBackend::multiply(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  shapes::multiply(basis(), a, b, out);
  run(stream, [this, a, b, out] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      const std::uint64_t* x = a.at(limb, polynomial);
      const std::uint64_t* y = b.at(limb, b.polynomials == 1 ? 0 : polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i) z[i] = mul_barrett(x[i], y[i], q);
    });
  });
}

void CpuBackend::multiply_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  shapes::multiply(basis(), a, b, out);
  run(stream, [this, a, b, out] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      const std::uint64_t* x = a.at(limb, polynomial);
      const std::uint64_t* y = b.at(limb, b.polynomials == 1 ? 0 : polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i)
        z[i] = reduce_wide(static_cast<Wide>(x[i]) * y[i] + z[i], q);
    });
  });
}

void CpuBackend::multiply_scalar(ConstView a, SignedWide scalar, View out,
                                 const memory::Stream& stream) const {
  shapes::unary(basis(), a, out);
  run(stream, [this, a, scalar, out] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      const Shoup factor = make_shoup(reduce_signed(scalar, q), q.value);
      const std::uint64_t* x = a.at(limb, polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      for (std::size_t i = 0; i < basis().n(); ++i) z[i] = mul_shoup(x[i], factor, q.value);
    });
  });
}

void CpuBackend::add_scalar(ConstView a, SignedWide scalar, View out, const memory::Stream& stream) const {
  shapes::unary(basis(), a, out);
  run(stream, [this, a, scalar, out] {
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const std::uint64_t* x = a.at(limb, polynomial);
      std::uint64_t* z = out.at(limb, polynomial);
      if (polynomial != 0) {
        if (z != x) std::copy_n(x, basis().n(), z);
        return;
      }
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      const std::uint64_t constant = reduce_signed(scalar, q);
      for (std::size_t i = 0; i < basis().n(); ++i) z[i] = add_reduced(x[i], constant, q.value);
    });
  });
}

void CpuBackend::copy(ConstView in, View out, const memory::Stream& stream) const {
  shapes::unary(basis(), in, out);
  run(stream, [this, in, out] {
    for_each(in.limbs, in.polynomials, [&](int limb, int polynomial) {
      if (in.at(limb, polynomial) != out.at(limb, polynomial)) {
        std::copy_n(in.at(limb, polynomial), basis().n(), out.at(limb, polynomial));
      }
    });
  });
}

void CpuBackend::tensor(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  shapes::tensor(basis(), a, b, out);
  run(stream, [this, a, b, out] {
    for_each(a.limbs, 1, [&](int limb, int) {
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      for (std::size_t i = 0; i < basis().n(); ++i) {
        const Wide a0 = a.at(limb, 0)[i];
        const Wide a1 = a.at(limb, 1)[i];
        const std::uint64_t b0 = b.at(limb, 0)[i];
        const std::uint64_t b1 = b.at(limb, 1)[i];
        out.at(limb, 0)[i] = reduce_wide(a0 * b0, q);
        out.at(limb, 1)[i] = reduce_wide(a0 * b1 + a1 * b0, q);
        out.at(limb, 2)[i] = reduce_wide(a1 * b1, q);
      }
    });
  });
}

void CpuBackend::tensor_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const {
  shapes::tensor_add(basis(), a, b, out);
  run(stream, [this, a, b, out] {
    for_each(a.limbs, 1, [&](int limb, int) {
      const scheme::Modulus& q = basis().prime(a.first_prime + limb);
      for (std::size_t i = 0; i < basis().n(); ++i) {
        const Wide a0 = a.at(limb, 0)[i];
        const Wide a1 = a.at(limb, 1)[i];
        const std::uint64_t b0 = b.at(limb, 0)[i];
        const std::uint64_t b1 = b.at(limb, 1)[i];
        std::uint64_t& out0 = out.at(limb, 0)[i];
        std::uint64_t& out1 = out.at(limb, 1)[i];
        out0 = reduce_wide(a0 * b0 + out0, q);
        out1 = reduce_wide(a0 * b1 + a1 * b0 + out1, q);
      }
    });
  });
}

void CpuBackend::sum_products(std::span<const Term> terms, View special, View out,
                              const memory::Stream& stream) const {
  shapes::sum_products(basis(), terms, special, out);
  run(stream, [this, terms = std::vector<Term>(terms.begin(), terms.end()), special, out] {
    const int apart = special.data == nullptr ? 0 : special.limbs;
    for_each(apart + out.limbs, 2, [&](int limb, int polynomial) {
      const View& to = limb < apart ? special : out;
      const int own = limb < apart ? limb : limb - apart;
      const int prime = to.first_prime + own;
      const scheme::Modulus& q = basis().prime(prime);
      constexpr std::size_t kTogether = 512;  // sums that stay near
      constexpr int kExact = 32;              // products below 2^122 that fit, with a residue
      std::array<Wide, kTogether> sums;
      for (std::size_t first = 0; first < basis().n(); first += kTogether) {
        const std::size_t count = std::min(kTogether, basis().n() - first);
        std::fill_n(sums.begin(), count, Wide{0});
        int summed = 0;
        for (const Term& term : terms) {
          if (prime < term.a.first_prime) continue;
          if (summed++ == kExact) {
            for (std::size_t i = 0; i < count; ++i) sums[i] = reduce_wide(sums[i], q);
            summed = 1;
          }
          const std::uint64_t* x = term.a.at(prime - term.a.first_prime, polynomial) + first;
          const std::uint64_t* y = term.b.at(prime - term.b.first_prime, 0) + first;
          for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<Wide>(x[i]) * y[i];
        }
        std::uint64_t* z = to.at(own, polynomial) + first;
        for (std::size_t i = 0; i < count; ++i) z[i] = reduce_wide(sums[i], q);
      }
    });
  });
}

void CpuBackend::add_turned(ConstView a, ConstView b, Automorphism automorphism, bool accumulate,
                            View special, View out, const memory::Stream& stream) const {
  shapes::add_turned(basis(), a, b, automorphism, accumulate, special, out);
  run(stream, [this, a, b, automorphism, accumulate, special, out] {
    const int apart = special.data == nullptr ? 0 : special.limbs;
    for_each(a.limbs, a.polynomials, [&](int limb, int polynomial) {
      const int prime = a.first_prime + limb;
      const std::uint64_t q = basis().prime(prime).value;
      const std::uint64_t* x = a.at(limb, polynomial);
      std::uint64_t* z = limb < apart ? special.at(limb, polynomial) : out.at(limb - apart, polynomial);
      const bool both = prime >= b.first_prime && polynomial < b.polynomials;
      const std::uint64_t* y = both ? b.at(prime - b.first_prime, polynomial) : nullptr;
      for (std::size_t i = 0; i < basis().n(); ++i) {
        std::uint64_t sum = x[i];
        if (both) {
          const auto at = static_cast<std::uint32_t>(i);
          sum = add_reduced(sum, y[automorphism_source(at, automorphism.exponent, basis().log_n())], q);
        }
        z[i] = accumulate ? add_reduced(z[i], sum, q) : sum;
      }
    });
  });
}

void CpuBackend::lift(const std::int64_t* coefficients, View out, const memory::Stream& stream) const {
  shapes::lift(basis(), coefficients, out);
  run(stream, [this, coefficients, out] {
    std::uint64_t largest = 0;  // or somewhat more
    for (std::size_t i = 0; i < basis().n(); ++i)
      largest |= static_cast<std::uint64_t>(coefficients[i] ^ (coefficients[i] >> 63));
    for_each(out.limbs, 1, [&](int limb, int) {
      const scheme::Modulus& q = basis().prime(out.first_prime + limb);
      std::uint64_t* z = out.at(limb, 0);
      if (largest + 1 < q.value) {  // as for messages: nothing to reduce
        for (std::size_t i = 0; i < basis().n(); ++i) {
          const std::int64_t x = coefficients[i];
          z[i] = static_cast<std::uint64_t>(x) + (static_cast<std::uint64_t>(x >> 63) & q.value);
        }
        return;
      }
      for (std::size_t i = 0; i < basis().n(); ++i) {
        const std::int64_t x = coefficients[i];
        const std::uint64_t size = x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
        const std::uint64_t rest = reduce_word(size, q);
        z[i] = x < 0 && rest != 0 ? q.value - rest : rest;
      }
    });
  });
}

}  // namespace fheres::ring::cpu

namespace fheres::ring {

std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Basis> basis,
                                                std::shared_ptr<memory::Driver> driver) {
  return std::make_shared<cpu::CpuBackend>(std::move(basis), std::move(driver));
}

std::shared_ptr<const Backend> make_cpu_backend(const scheme::Parameters& parameters,
                                                std::shared_ptr<memory::Driver> driver) {
  return make_cpu_backend(Basis::make(parameters), std::move(driver));
}

}  // namespace fheres::ring
