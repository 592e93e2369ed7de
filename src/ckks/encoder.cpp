#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <fheres/ckks/encoder.hpp>

#include "ckks/embedding.hpp"
#include "ckks/validate.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

using Complex = std::complex<double>;
const memory::Stream kInline;

// Digits of x in the mixed radix q_0, q_0 q_1, ..: x = v_0 + q_0 (v_1 + q_1 (v_2 + ..)), for x in [0, Q).
class MixedRadix {
 public:
  explicit MixedRadix(std::span<const scheme::Modulus> primes) : primes_(primes) {
    for (std::size_t i = 0; i < primes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::uint64_t inverse =
            scheme::inverse_mod(ring::reduce_word(primes[j].value, primes[i]), primes[i]);
        inverses_.push_back(ring::make_shoup(inverse, primes[i].value));
      }
    }
    // Q is 0 modulo each prime, so (Q - 1) / 2 has the residues (q - 1) / 2.
    for (const scheme::Modulus& q : primes) half_.push_back((q.value - 1) / 2);
    convert(half_);
  }

  // The centred value of these residues, in (-Q/2, Q/2), rounded to a double. Overwrites them.
  double centred(std::vector<std::uint64_t>& residues) {
    negated_.resize(residues.size());
    for (std::size_t i = 0; i < residues.size(); ++i) {
      negated_[i] = residues[i] == 0 ? 0 : primes_[i].value - residues[i];
    }
    convert(residues);
    const bool negative =
        std::lexicographical_compare(half_.rbegin(), half_.rend(), residues.rbegin(), residues.rend());
    if (negative) {
      convert(negated_);
      return -magnitude(negated_);
    }
    return magnitude(residues);
  }

 private:
  void convert(std::vector<std::uint64_t>& x) const {
    std::size_t next = 0;
    for (std::size_t i = 1; i < x.size(); ++i) {
      const scheme::Modulus& q = primes_[i];
      std::uint64_t value = x[i];
      for (std::size_t j = 0; j < i; ++j) {
        value = ring::sub_reduced(value, ring::reduce_word(x[j], q), q.value);
        value = ring::mul_shoup(value, inverses_[next++], q.value);
      }
      x[i] = value;
    }
  }

  double magnitude(const std::vector<std::uint64_t>& digits) const {
    double value = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      value = value * static_cast<double>(primes_[i].value) + static_cast<double>(digits[i]);
    }
    return value;
  }

  std::span<const scheme::Modulus> primes_;
  std::vector<ring::Shoup> inverses_;  // row i: 1/q_j modulo q_i for j < i
  std::vector<std::uint64_t> half_;
  std::vector<std::uint64_t> negated_;
};

std::uint64_t residue(double integer, const scheme::Modulus& q) {
  const double size = std::fabs(integer);
  const std::uint64_t rest = ring::reduce_wide(static_cast<ring::Wide>(size), q);
  return integer < 0 && rest != 0 ? q.value - rest : rest;
}

}  // namespace

struct Encoder::Roots {
  explicit Roots(int log_n) : embedding(log_n) {}
  Embedding embedding;
};

Encoder::Encoder(Context host)
    : host_(std::move(host)), roots_(std::make_shared<const Roots>(host_.parameters().log_n())) {}

Plaintext Encoder::encode(std::span<const double> message, int level, const scheme::Scale& scale) const {
  const std::vector<Complex> values(message.begin(), message.end());
  return encode(std::span<const Complex>(values), level, scale);
}

Plaintext Encoder::encode(std::span<const Complex> message, int level, const scheme::Scale& scale) const {
  const scheme::Parameters& parameters = host_.parameters();
  const std::size_t slots = roots_->embedding.slots();
  if (level < 0 || level > parameters.max_level()) {
    throw scheme::ParameterError(
        fmt::format("a plaintext's level is {}, expected 0 to {}", level, parameters.max_level()));
  }
  if (message.size() > slots) {
    throw scheme::ParameterError(
        fmt::format("a message has {} values, expected at most {}", message.size(), slots));
  }
  std::vector<Complex> values(slots);
  std::copy(message.begin(), message.end(), values.begin());
  roots_->embedding.to_coefficients(values);

  // Two bits below Q's: one for the sign, one to spare. 126 bits are what the integers here hold.
  const double bound = std::exp2(std::min(parameters.log_q(level) - 2, 126.0));
  const double factor = scale.to_double();
  std::vector<double> integers(2 * slots);
  for (std::size_t k = 0; k < slots; ++k) {
    integers[k] = std::nearbyint(values[k].real() * factor);
    integers[k + slots] = std::nearbyint(values[k].imag() * factor);
    for (double x : {integers[k], integers[k + slots]}) {
      if (!(std::fabs(x) < bound)) {
        throw scheme::ParameterError(fmt::format(
            "a coefficient of the message is {:.3g} at scale {}, expected less than {:.3g} at level {}", x,
            scale.text(), bound, level));
      }
    }
  }

  Plaintext plaintext(parameters, scheme::plaintext_type(parameters, level, scale));
  const ring::View out = ring_view(host_, plaintext.ref());
  for (int limb = 0; limb < out.limbs; ++limb) {
    const scheme::Modulus& q = host_.basis().prime(out.first_prime + limb);
    std::uint64_t* x = out.at(limb, 0);
    for (std::size_t i = 0; i < integers.size(); ++i) x[i] = residue(integers[i], q);
  }
  host_.backend().forward(out, kInline);
  return plaintext;
}

std::vector<double> Encoder::coefficients_of(const PlaintextView& plaintext) const {
  require_prepared(plaintext.type());
  const ring::ConstView in = ring_view(host_, plaintext);
  const std::size_t n = host_.basis().n();
  std::vector<std::uint64_t> words(static_cast<std::size_t>(in.limbs) * n);
  const ring::View coefficients = ring::dense_view(words.data(), in.first_prime, in.limbs, 1, n);
  host_.backend().inverse(in, coefficients, kInline);

  MixedRadix radix(host_.parameters().q().first(static_cast<std::size_t>(in.limbs)));
  const double scale = plaintext.type().scale.to_double();
  std::vector<double> values(n);
  std::vector<std::uint64_t> residues(static_cast<std::size_t>(in.limbs));
  for (std::size_t i = 0; i < n; ++i) {
    for (int limb = 0; limb < in.limbs; ++limb)
      residues[static_cast<std::size_t>(limb)] = coefficients.at(limb, 0)[i];
    values[i] = radix.centred(residues) / scale;
  }
  return values;
}

std::vector<Complex> Encoder::decode(const PlaintextView& plaintext) const {
  const std::vector<double> coefficients = coefficients_of(plaintext);
  const std::size_t slots = coefficients.size() / 2;
  std::vector<Complex> values(slots);
  for (std::size_t k = 0; k < slots; ++k) values[k] = {coefficients[k], coefficients[k + slots]};
  roots_->embedding.to_slots(values);
  return values;
}

std::vector<double> Encoder::decode_real(const PlaintextView& plaintext) const {
  const std::vector<Complex> values = decode(plaintext);
  std::vector<double> real(values.size());
  std::transform(values.begin(), values.end(), real.begin(), [](const Complex& z) { return z.real(); });
  return real;
}

}  // namespace fheres::ckks
