#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <fheres/ckks/flooding.hpp>

#include "ckks/sampling.hpp"
#include "ckks/validate.hpp"
#include "ckks/views.hpp"

namespace fheres::ckks {

void flood(const Context& host, Plaintext& plaintext, int bits, const Seed& seed) {
  require_prepared(plaintext.type());
  const scheme::Parameters& parameters = host.parameters();
  const double room = parameters.log_q(plaintext.type().level) - 2;
  if (bits < 0 || bits > 62 || bits > room) {
    throw scheme::ParameterError(
        fmt::format("flooding noise of 2^{} does not fit: level {} has room for 2^{:.0f}", bits,
                    plaintext.type().level, std::min(room, 62.0)));
  }
  const std::size_t n = parameters.n();
  const ring::View out = ring_view(host, plaintext.ref());
  const SecretWords noise(n);
  sample_even(seed, bits, noise.integers());
  const SecretWords words(static_cast<std::size_t>(out.limbs) * n);
  const ring::View lifted = ring::dense_view(words.data(), out.first_prime, out.limbs, 1, n);
  host.backend().lift(noise.integers().data(), lifted, {});
  host.backend().forward(lifted, {});
  host.backend().add(out, lifted, out, {});
}

double flooding_deviation(const scheme::Parameters& parameters, const scheme::Scale& scale, int bits) {
  return std::exp2(bits) * std::sqrt(static_cast<double>(parameters.n()) / 3) / scale.to_double();
}

}  // namespace fheres::ckks
