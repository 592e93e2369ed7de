#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <fheres/memory/cuda.hpp>
#include <fheres/ring/backend.hpp>
#include <fheres/ring/cuda.hpp>

#include "ring/ring_support.hpp"
#include "support/allocations.hpp"
#include "support/random.hpp"

namespace fheres::test {

inline constexpr std::uint64_t kPoison = 0xa5a5a5a5a5a5a5a5U;

/// A basis's shape: q limbs of the first and of the other sizes, special limbs of a size, limbs a digit.
struct Shape {
  int log_n, first_bits, q_bits, q_limbs, p_bits, special, digit_limbs;
};

inline std::shared_ptr<const ring::Basis> basis_of(const Shape& shape) {
  const bool same = shape.p_bits == shape.first_bits;
  std::vector<scheme::Modulus> q = ntt_primes(shape.log_n, shape.first_bits, 1, same ? shape.special : 0);
  const int skip = shape.q_bits == shape.first_bits ? 1 + (same ? shape.special : 0) : 0;
  const auto rest = ntt_primes(shape.log_n, shape.q_bits, shape.q_limbs - 1, skip);
  q.insert(q.end(), rest.begin(), rest.end());
  return ring::Basis::make(shape.log_n, q, ntt_primes(shape.log_n, shape.p_bits, shape.special),
                           shape.digit_limbs);
}

/// N = 2^10 .. 2^17 with few limbs; more limbs, digits and digits of several limbs where the host is fast enough.
inline std::vector<Shape> parity_shapes() {
  return {{10, 60, 40, 5, 60, 2, 2}, {11, 50, 40, 6, 48, 3, 3}, {12, 60, 30, 4, 60, 1, 1},
          {13, 60, 50, 5, 60, 2, 3}, {14, 60, 40, 8, 60, 1, 1}, {15, 50, 40, 6, 45, 3, 4},
          {16, 60, 40, 3, 60, 2, 2}, {17, 60, 40, 2, 60, 1, 1}, {12, 45, 36, 11, 50, 1, 1}};
}

/// The two back ends of one basis, and a stream.
struct Rig {
  explicit Rig(const Shape& its_shape, std::uint64_t its_seed)
      : shape(its_shape),
        seed(its_seed),
        random(its_seed),
        basis(basis_of(its_shape)),
        driver(memory::make_cuda_driver({.one_allocation_per_block = one_allocation_per_block()})),
        device(memory::Location::cuda(0)),
        stream(driver->make_stream(device, "parity")),
        cpu(ring::make_cpu_backend(basis, nullptr)),
        cuda(ring::make_cuda_backend(basis, driver, device)) {}
  std::size_t n() const { return basis->n(); }
  int k() const { return basis->special_limbs(); }
  int q_limbs() const { return basis->q_limbs(); }

  Shape shape;
  std::uint64_t seed;
  std::mt19937_64 random;
  std::shared_ptr<const ring::Basis> basis;
  std::shared_ptr<memory::Driver> driver;
  memory::Location device;
  memory::Stream stream;
  std::shared_ptr<const ring::Backend> cpu;
  std::shared_ptr<const ring::Backend> cuda;
};

/// The same words at the host and on the device, poisoned around and between the residues.
class Twin {
 public:
  Twin(Rig& rig, std::size_t words) : rig_(rig), host_(words + 2 * kGuard, kPoison) {
    bytes_ = host_.size() * sizeof(std::uint64_t);
    data_ = rig.driver->allocate(rig.device, bytes_);
    upload();
  }
  ~Twin() { rig_.driver->deallocate(rig_.device, data_, bytes_); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  std::uint64_t* host() { return host_.data() + kGuard; }
  std::uint64_t* device() { return reinterpret_cast<std::uint64_t*>(data_) + kGuard; }
  void upload() {
    rig_.driver->copy(
        rig_.stream, {rig_.device, data_, bytes_},
        {memory::Location::pageable_host(), reinterpret_cast<std::byte*>(host_.data()), bytes_});
    rig_.driver->synchronize(rig_.stream);
  }
  /// Every word, guards and gaps included.
  bool same() {
    std::vector<std::uint64_t> from_device(host_.size());
    rig_.driver->copy(
        rig_.stream,
        {memory::Location::pageable_host(), reinterpret_cast<std::byte*>(from_device.data()), bytes_},
        {rig_.device, data_, bytes_});
    rig_.driver->synchronize(rig_.stream);
    return from_device == host_;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  Rig& rig_;
  std::vector<std::uint64_t> host_;
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
};

/// Polynomials in both places: full of poison, or of canonical residues. `gap` polynomials lie between two limbs.
class TwinPoly {
 public:
  TwinPoly(Rig& rig, int first_prime, int limbs, int polynomials, int gap = 0)
      : rig_(rig), twin_(rig, static_cast<std::size_t>(limbs) * stride(rig, polynomials, gap)) {
    host = {twin_.host(), first_prime, limbs, polynomials, stride(rig, polynomials, gap), rig.n()};
    device = host;
    device.data = twin_.device();
  }
  TwinPoly& randomized() {
    randomize(*rig_.basis, host, rig_.random);
    twin_.upload();
    return *this;
  }
  bool same() { return twin_.same(); }
  void upload() { twin_.upload(); }

  ring::View host, device;

 private:
  static std::size_t stride(const Rig& rig, int polynomials, int gap) {
    return static_cast<std::size_t>(polynomials + gap) * rig.n();
  }
  Rig& rig_;
  Twin twin_;
};

/// Runs `body(rig)` for every shape, with a fresh seed that a failure prints.
template <class Body>
void for_every_shape(Body body) {
  const std::uint64_t seed = test_seed(std::random_device{}());
  INFO("FHERES_TEST_SEED=" << seed);
  for (const Shape& shape : parity_shapes()) {
    INFO("N=2^" << shape.log_n << " q_limbs=" << shape.q_limbs << " special=" << shape.special
                << " digit_limbs=" << shape.digit_limbs);
    Rig rig(shape, seed);
    body(rig);
  }
}

}  // namespace fheres::test
