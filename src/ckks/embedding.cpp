#include "ckks/embedding.hpp"

#include <utility>

#include <fheres/ring/ntt_tables.hpp>

namespace fheres::ckks {
namespace {

using Complex = std::complex<double>;
using Wide = __int128;
constexpr int kFraction = 62;

struct Angle {
  std::int64_t cosine, sine;  // times 2^62
};

std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((static_cast<Wide>(a) * b + (Wide{1} << (kFraction - 1))) >> kFraction);
}

std::int64_t square_root(unsigned __int128 x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 63; bit != 0; bit >>= 1) {
    const std::uint64_t candidate = root | bit;
    if (static_cast<unsigned __int128>(candidate) * candidate <= x) root = candidate;
  }
  return static_cast<std::int64_t>(root);
}

// cos(x/2) = sqrt((1 + cos x) / 2), sin(x/2) = sin x / (2 cos(x/2)), for x in (0, pi/2].
Angle half(Angle angle) {
  constexpr auto one = std::int64_t{1} << kFraction;
  const auto sum = static_cast<unsigned __int128>(static_cast<std::uint64_t>(one) +
                                                  static_cast<std::uint64_t>(angle.cosine));
  const std::int64_t cosine = square_root(sum << (kFraction - 1));
  const Wide numerator = static_cast<Wide>(angle.sine) << (kFraction - 1);
  return {cosine, static_cast<std::int64_t>(numerator / cosine)};
}

double to_double(std::int64_t fixed) { return static_cast<double>(fixed) * 0x1p-62; }

// std::complex's own product looks for infinities first.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

std::vector<Complex> unit_roots(int log_n) {
  const std::size_t quarter = std::size_t{1} << (log_n - 1);  // of the 2N roots
  std::vector<Angle> steps;                                   // steps[b]: the angle 2^b pi / N
  for (Angle angle{0, std::int64_t{1} << kFraction}; static_cast<int>(steps.size()) < log_n - 1;) {
    angle = half(angle);
    steps.insert(steps.begin(), angle);
  }
  std::vector<Angle> table{{std::int64_t{1} << kFraction, 0}};
  table.reserve(quarter);
  for (const Angle& step : steps) {
    for (std::size_t e = 0, count = table.size(); e < count; ++e) {
      const Angle& a = table[e];
      table.push_back({product(a.cosine, step.cosine) - product(a.sine, step.sine),
                       product(a.cosine, step.sine) + product(a.sine, step.cosine)});
    }
  }
  std::vector<Complex> roots(4 * quarter);
  for (std::size_t e = 0; e < quarter; ++e) {
    const double c = to_double(table[e].cosine);
    const double s = to_double(table[e].sine);
    roots[e] = {c, s};
    roots[e + quarter] = {-s, c};
    roots[e + 2 * quarter] = {-c, -s};
    roots[e + 3 * quarter] = {s, -c};
  }
  return roots;
}

Embedding::Embedding(int log_n)
    : log_slots_(log_n - 1), slots_(std::size_t{1} << log_slots_), factors_(slots_) {
  // Blocks of m evaluate at the 4m-th roots zeta_4m^(5^j): x_(j + m/2) = -x_j, and squares are the points of
  // the next smaller block.
  const std::vector<Complex> roots = unit_roots(log_n);
  for (std::size_t m = 2; m <= slots_; m *= 2) {
    const std::size_t stride = slots_ / m;
    std::size_t power = 1;
    for (std::size_t j = 0; j < m / 2; ++j) {
      factors_[m / 2 + j] = roots[power * stride];
      power = power * 5 % (4 * m);
    }
  }
}

void Embedding::reverse_order(std::span<Complex> values) const {
  if (log_slots_ == 0) return;
  for (std::size_t i = 0; i < slots_; ++i) {
    const std::size_t j = ring::reverse_bits(static_cast<std::uint32_t>(i), log_slots_);
    if (i < j) std::swap(values[i], values[j]);
  }
}

void Embedding::to_slots(std::span<Complex> values) const {
  reverse_order(values);
  for (std::size_t m = 2; m <= slots_; m *= 2) {
    const Complex* factors = factors_.data() + m / 2;
    for (std::size_t block = 0; block < slots_; block += m) {
      for (std::size_t j = 0; j < m / 2; ++j) {
        const Complex even = values[block + j];
        const Complex odd = times(values[block + j + m / 2], factors[j]);
        values[block + j] = even + odd;
        values[block + j + m / 2] = even - odd;
      }
    }
  }
}

void Embedding::to_coefficients(std::span<Complex> values) const {
  for (std::size_t m = slots_; m >= 2; m /= 2) {
    const Complex* factors = factors_.data() + m / 2;
    for (std::size_t block = 0; block < slots_; block += m) {
      for (std::size_t j = 0; j < m / 2; ++j) {
        const Complex sum = values[block + j] + values[block + j + m / 2];
        const Complex difference = values[block + j] - values[block + j + m / 2];
        values[block + j] = sum;
        values[block + j + m / 2] = times(difference, std::conj(factors[j]));
      }
    }
  }
  reverse_order(values);
  const double scale = 1.0 / static_cast<double>(slots_);  // a power of two: exact
  for (Complex& value : values) value *= scale;
}

}  // namespace fheres::ckks
