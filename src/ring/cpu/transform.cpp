#include "ring/cpu/transform.hpp"

namespace fheres::ring::cpu {

// Butterflies with precomputed quotients and lazy ranges: Harvey, "Faster arithmetic for number-theoretic
// transforms" (2014). Forward values stay in [0, 4q), inverse values in [0, 2q); q < 2^61.

void forward(std::uint64_t* x, const NttTables& tables, int log_n, std::uint64_t q) {
  const std::size_t n = std::size_t{1} << log_n;
  const std::uint64_t twice = 2 * q;
  const Shoup* roots = tables.forward.data();
  std::size_t t = n / 2;
  for (std::size_t m = 1; m < n / 2; m *= 2, t /= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const Shoup w = roots[m + i];
      std::uint64_t* a = x + 2 * i * t;
      std::uint64_t* b = a + t;
      for (std::size_t j = 0; j < t; ++j) {
        const std::uint64_t left = reduce_once(a[j], twice);
        const std::uint64_t right = mul_lazy(b[j], w, q);
        a[j] = left + right;
        b[j] = left + twice - right;
      }
    }
  }
  for (std::size_t i = 0; i < n / 2; ++i) {
    const std::uint64_t left = reduce_once(x[2 * i], twice);
    const std::uint64_t right = mul_lazy(x[2 * i + 1], roots[n / 2 + i], q);
    x[2 * i] = reduce_once(reduce_once(left + right, twice), q);
    x[2 * i + 1] = reduce_once(reduce_once(left + twice - right, twice), q);
  }
}

void inverse(std::uint64_t* x, const NttTables& tables, int log_n, const scheme::Modulus& q,
             std::uint64_t scale) {
  const std::size_t n = std::size_t{1} << log_n;
  const std::uint64_t twice = 2 * q.value;
  const Shoup* roots = tables.inverse.data();
  std::size_t t = 1;
  for (std::size_t m = n / 2; m > 1; m /= 2, t *= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const Shoup w = roots[m + i];
      std::uint64_t* a = x + 2 * i * t;
      std::uint64_t* b = a + t;
      for (std::size_t j = 0; j < t; ++j) {
        const std::uint64_t left = a[j];
        const std::uint64_t right = b[j];
        a[j] = reduce_once(left + right, twice);
        b[j] = mul_lazy(left + twice - right, w, q.value);
      }
    }
  }
  // The last stage takes 1/N and the scale along.
  const std::uint64_t factor = mul_barrett(tables.n_inverse.value, scale, q);
  const Shoup even = make_shoup(factor, q.value);
  const Shoup odd = make_shoup(mul_barrett(factor, roots[1].value, q), q.value);
  for (std::size_t j = 0; j < n / 2; ++j) {
    const std::uint64_t left = x[j];
    const std::uint64_t right = x[j + n / 2];
    x[j] = mul_shoup(left + right, even, q.value);
    x[j + n / 2] = mul_shoup(left + twice - right, odd, q.value);
  }
}

}  // namespace fheres::ring::cpu
