#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <fheres/ckks/encoder.hpp>

#include "ckks/embedding.hpp"
#include "ckks/inline_stream.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {
namespace {

using Complex = std::complex<double>;
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

  // centred() where the value is within q_0 / 2, as messages are: then the first residue tells it, and the others only
  // have to agree.
  std::optional<double> small(const std::vector<std::uint64_t>& residues) const {
    const bool negative = residues[0] > primes_[0].value / 2;
    const std::uint64_t size = negative ? primes_[0].value - residues[0] : residues[0];
    for (std::size_t i = 1; i < residues.size(); ++i) {
      const scheme::Modulus& q = primes_[i];
      const std::uint64_t rest = ring::reduce_word(size, q);
      if (residues[i] != (negative && rest != 0 ? q.value - rest : rest)) return std::nullopt;
    }
    return negative ? -static_cast<double>(size) : static_cast<double>(size);
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

// std::nearbyint of x, half to even, which a compiler can vectorise: beyond 2^52 doubles have no fraction, and below it
// adding 2^52 leaves no bits for one.
double rounded(double x) {
  const double size = std::fabs(x);
  const double whole = std::copysign((size + 0x1p52) - 0x1p52, x);
  return size < 0x1p52 ? whole : x;
}

std::uint64_t residue(double integer, const scheme::Modulus& q) {
  const double size = std::fabs(integer);
  const std::uint64_t rest = ring::reduce_wide(static_cast<ring::Wide>(size), q);
  return integer < 0 && rest != 0 ? q.value - rest : rest;
}

}  // namespace

/// One embedding for each number of slots, made when it is first asked for.
struct Encoder::Roots {
  explicit Roots(int log_n) : all(log_n) {}

  const Embedding& embedding(std::uint64_t slots) const {
    if (slots == all.slots()) return all;
    const std::lock_guard lock(mutex);
    auto& found = sparse[slots];
    if (!found) found = std::make_unique<const Embedding>(std::countr_zero(slots) + 1);
    return *found;
  }

  Embedding all;
  mutable std::mutex mutex;
  mutable std::map<std::uint64_t, std::unique_ptr<const Embedding>> sparse;
};

Encoder::Encoder(Context host)
    : host_(std::move(host)), roots_(std::make_shared<const Roots>(host_.parameters().log_n())) {}

Plaintext Encoder::encode(std::span<const double> message, int level, const scheme::Scale& scale,
                          const Encoding& encoding) const {
  return encode_any(message, level, scale, encoding);
}

Plaintext Encoder::encode(std::span<const Complex> message, int level, const scheme::Scale& scale,
                          const Encoding& encoding) const {
  return encode_any(message, level, scale, encoding);
}

std::uint64_t Encoder::check_slots(std::uint64_t slots) const {
  const std::uint64_t all = host_.parameters().slots();
  if (slots == 0) return all;
  if (slots <= all && std::has_single_bit(slots)) return slots;
  throw scheme::ParameterError(
      fmt::format("a message has {} slots, expected a power of two up to {}", slots, all));
}

template <class Number>
Plaintext Encoder::encode_any(std::span<const Number> message, int level, const scheme::Scale& scale,
                              const Encoding& encoding) const {
  const scheme::Parameters& parameters = host_.parameters();
  if (level < 0 || level > parameters.max_level()) {
    throw scheme::ParameterError(
        fmt::format("a plaintext's level is {}, expected 0 to {}", level, parameters.max_level()));
  }
  const std::size_t slots = check_slots(encoding.slots);
  if (message.size() > slots) {
    throw scheme::ParameterError(
        fmt::format("a message has {} values, expected at most {}", message.size(), slots));
  }
  std::vector<Complex> values(slots);
  std::copy(message.begin(), message.end(), values.begin());
  roots_->embedding(slots).to_coefficients(values);

  // Two bits below Q's: one for the sign, one to spare. 126 bits are what the integers here hold.
  const bool compact = encoding.form == scheme::PlaintextForm::compact;
  const double bound = std::exp2(std::min(parameters.log_q(level) - 2, compact ? 63.0 : 126.0));
  const double factor = scale.to_double();
  const std::size_t all = parameters.slots();
  const std::size_t gap = all / slots;
  std::vector<double> integers(2 * all);
  for (std::size_t k = 0; k < slots; ++k) {
    integers[k * gap] = rounded(values[k].real() * factor);
    integers[k * gap + all] = rounded(values[k].imag() * factor);
  }
  double largest = 0;
  for (const double x : integers) {
    if (!(std::fabs(x) < bound)) {
      throw scheme::ParameterError(fmt::format(
          "a coefficient of the message is {:.3g} at scale {}, expected less than {:.3g} at level {}{}", x,
          scale.text(), bound, level, compact ? " in 64 bits" : ""));
    }
    largest = std::max(largest, std::fabs(x));
  }

  Plaintext plaintext(parameters, scheme::plaintext_type(parameters, level, scale, encoding.form));
  if (compact) {
    std::uint64_t* words = plaintext.ref().data();
    for (std::size_t i = 0; i < integers.size(); ++i)
      words[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(integers[i]));
    return plaintext;
  }
  const ring::View out = ring_view(host_, plaintext.ref());
  if (largest < 0x1p63) {
    const std::vector<std::int64_t> words(integers.begin(), integers.end());
    host_.backend().lift(words.data(), out, kInline);
  } else {
    for (int limb = 0; limb < out.limbs; ++limb) {
      const scheme::Modulus& q = host_.basis().prime(out.first_prime + limb);
      std::uint64_t* x = out.at(limb, 0);
      for (std::size_t i = 0; i < integers.size(); ++i) x[i] = residue(integers[i], q);
    }
  }
  host_.backend().forward(out, kInline);
  return plaintext;
}

std::vector<double> Encoder::coefficients_of(const PlaintextView& plaintext) const {
  const std::size_t n = host_.basis().n();
  const double scale = plaintext.type().scale.to_double();
  std::vector<double> values(n);
  if (plaintext.type().plaintext_form == scheme::PlaintextForm::compact) {
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<double>(static_cast<std::int64_t>(plaintext.data()[i])) / scale;
    return values;
  }
  ring::ConstView in = ring_view(host_, plaintext);
  // Over P and Q: what Q says is enough.
  const int special = host_.basis().special_limbs() - in.first_prime;
  in = in.limb_range(special, in.limbs - special);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(in.limbs) * n);
  const ring::View coefficients = ring::dense_view(words.data(), in.first_prime, in.limbs, 1, n);
  host_.backend().inverse(in, coefficients, kInline);

  MixedRadix radix(host_.parameters().q().first(static_cast<std::size_t>(in.limbs)));
  std::vector<std::uint64_t> residues(static_cast<std::size_t>(in.limbs));
  for (std::size_t i = 0; i < n; ++i) {
    for (int limb = 0; limb < in.limbs; ++limb)
      residues[static_cast<std::size_t>(limb)] = coefficients.at(limb, 0)[i];
    const std::optional<double> small = radix.small(residues);
    values[i] = (small ? *small : radix.centred(residues)) / scale;
  }
  return values;
}

std::vector<Complex> Encoder::decode(const PlaintextView& plaintext, std::uint64_t slots) const {
  slots = check_slots(slots);
  const std::vector<double> coefficients = coefficients_of(plaintext);
  const std::size_t all = coefficients.size() / 2;
  const std::size_t gap = all / slots;
  std::vector<Complex> values(slots);
  for (std::size_t k = 0; k < slots; ++k) values[k] = {coefficients[k * gap], coefficients[k * gap + all]};
  roots_->embedding(slots).to_slots(values);
  return values;
}

std::vector<double> Encoder::decode_real(const PlaintextView& plaintext, std::uint64_t slots) const {
  const std::vector<Complex> values = decode(plaintext, slots);
  std::vector<double> real(values.size());
  std::transform(values.begin(), values.end(), real.begin(), [](const Complex& z) { return z.real(); });
  return real;
}

}  // namespace fheres::ckks
