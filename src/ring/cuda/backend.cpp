#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/ring/cuda.hpp>

#include "memory/cuda/check.hpp"
#include "ring/cuda/graph_cache.hpp"
#include "ring/cuda/operations.hpp"
#include "ring/shapes.hpp"

namespace fheres::ring {
namespace {

using memory::Stream;

cuda::DeviceShape shape_of(int ordinal) {
  cuda::DeviceShape shape;
  FHERES_CUDA(cudaDeviceGetAttribute(&shape.multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
  int clusters = 0;
  FHERES_CUDA(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, ordinal));
  shape.clusters = clusters != 0;
  return shape;
}

/// Both, or where `special` has no data `out` alone.
cuda::Products products(View special, View out) {
  if (special.data == nullptr) return {cuda::array(out), {}, {}, out.limbs, 0};
  return {cuda::array(special), cuda::array(out), {}, special.limbs, out.limbs};
}

/// ring::Backend on one device. Shapes are checked as on the host; then operations.hpp queues the kernels.
class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<const Basis> basis, std::shared_ptr<memory::Driver> driver,
              memory::Location device, const CudaBackendOptions& options)
      : Backend(std::move(basis)),
        driver_(std::move(driver)),
        device_(device),
        ordinal_(memory::cuda::ordinal(*driver_, device)),
        tables_(this->basis(), driver_, device, shape_of(ordinal_)),
        graphs_(options.graphs) {}

  std::string name() const override { return "cuda"; }
  Bytes table_bytes() const override { return tables_.bytes(); }

  void queue_as_one(const Stream& stream, const std::function<void()>& work) const override;
  GraphCounts graph_counts() const override { return graphs_.counts(); }

  void forward(View values, const Stream& stream) const override;
  void inverse(ConstView in, View out, const Stream& stream) const override;
  void automorphism(ConstView in, Automorphism automorphism, View out, const Stream& stream) const override;
  void add(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void subtract(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void negate(ConstView a, View out, const Stream& stream) const override;
  void multiply(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void multiply_add(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void multiply_scalar(ConstView a, SignedWide scalar, View out, const Stream& stream) const override;
  void add_scalar(ConstView a, SignedWide scalar, View out, const Stream& stream) const override;
  void copy(ConstView in, View out, const Stream& stream) const override;
  void tensor(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void tensor_add(ConstView a, ConstView b, View out, const Stream& stream) const override;
  void sum_products(std::span<const Term> terms, View special, View out, const Stream& stream) const override;
  void add_turned(ConstView a, ConstView b, Automorphism automorphism, bool accumulate, View special,
                  View out, const Stream& stream) const override;
  void lift(const std::int64_t* coefficients, View out, const Stream& stream) const override;
  void expand(const std::byte* seed, int first, View out, const Stream& stream) const override;
  void expand_half(const std::byte* seed, ConstView stored, View copied, View uniform,
                   const Stream& stream) const override;
  void decompose(const Source& source, Digits out, const Stream& stream) const override;
  void mod_up(ConstDigits digits, View out, const Stream& stream) const override;
  void key_product(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                   View out, const Stream& stream) const override;
  void hoisted_product(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                       View out, const Stream& stream) const override;
  void hoisted_products(ConstView extended, ConstView source, ConstView addend,
                        std::span<const Rotation> rotations, const Stream& stream) const override;
  void hoisted_whole(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                     View special, View out, const Stream& stream) const override;
  void switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                    View tile, View out, const Stream& stream) const override;
  void switch_whole(ConstDigits digits, const Source& source, const std::uint64_t* key, int key_digits,
                    View tile, View special, View out, View last, const Stream& stream) const override;
  void divide_product(View special, View values, View last, ConstView a, ConstView b, View tile,
                      const Stream& stream) const override;
  void begin_mod_down(View special, const Stream& stream) const override;
  void mod_down(ConstView special, View values, ConstView addend, Automorphism automorphism, View tile,
                const Stream& stream) const override;
  void mod_down_tensor(ConstView special, View values, ConstView a, ConstView b, View tile,
                       const Stream& stream) const override;
  void rescale(ConstView in, std::uint64_t multiplier, View out, View last,
               const Stream& stream) const override;
  void begin_rescale(View last, const Stream& stream) const override;
  void finish_rescale(ConstView last, View values, View tile, const Stream& stream) const override;

 private:
  /// Makes the device current for a scope and gives the vendor's stream. std::logic_error for a stream of elsewhere.
  class Queue {
   public:
    Queue(const CudaBackend& backend, const Stream& stream);
    operator cudaStream_t() const { return stream_; }

   private:
    cudaStream_t stream_;
    memory::cuda::DeviceGuard guard_;
  };

  const cuda::Tables& tables() const { return tables_.get(); }
  std::uint64_t half_of(int prime) const { return (basis().prime(prime).value - 1) / 2; }
  /// How the inverse transform of a limb that is dropped ends: times multiplier / N, plus half of the prime.
  cuda::Affine last_end(int prime, std::uint64_t multiplier) const {
    const scheme::Modulus& q = basis().prime(prime);
    const std::uint64_t factor =
        mul_barrett(basis().ntt(prime).n_inverse.value, reduce_word(multiplier, q), q);
    return {make_shoup(factor, q.value), half_of(prime), 0};
  }

  std::shared_ptr<memory::Driver> driver_;
  memory::Location device_;
  int ordinal_;  // what the runtime calls the device
  cuda::DeviceTables tables_;
  mutable cuda::GraphCache graphs_;
};

cudaStream_t native(const memory::Driver& driver, memory::Location device, const Stream& stream) {
  void* const vendor = stream && stream.device() == device ? driver.native(stream) : nullptr;
  if (vendor == nullptr) throw std::logic_error("expected a stream of " + device.name());
  return static_cast<cudaStream_t>(vendor);
}

CudaBackend::Queue::Queue(const CudaBackend& backend, const Stream& stream)
    : stream_(native(*backend.driver_, backend.device_, stream)), guard_(backend.ordinal_) {}

void CudaBackend::queue_as_one(const Stream& stream, const std::function<void()>& work) const {
  if (!graphs_.enabled() || cuda::Keeping::active()) return work();
  const Queue queue(*this, stream);
  thread_local cuda::LaunchList list;
  {
    const cuda::Keeping keeping(list, queue);
    work();
  }
  graphs_.queue(list, queue);
}

void CudaBackend::forward(View values, const Stream& stream) const {
  shapes::forward(basis(), values);
  const Queue queue(*this, stream);
  const cuda::Job job{values.first_prime, values.limbs, values.polynomials, 0, 0};
  cuda::forward_columns(tables(), job, cuda::array(values), queue);
  cuda::forward_rows(tables(), job, cuda::array(values), queue);
}

void CudaBackend::inverse(ConstView in, View out, const Stream& stream) const {
  shapes::inverse(basis(), in, out);
  const Queue queue(*this, stream);
  const cuda::Job job{out.first_prime, out.limbs, out.polynomials, 0, 0};
  cuda::Ends ends;
  ends.whole = tables().end_plain + out.first_prime;
  ends.partial_from = out.limbs;
  cuda::inverse_rows(tables(), job, cuda::array(in), cuda::array(out), queue);
  cuda::inverse_columns(tables(), job, cuda::array(out), ends, queue);
}

void CudaBackend::automorphism(ConstView in, Automorphism automorphism, View out,
                               const Stream& stream) const {
  shapes::automorphism(basis(), in, automorphism, out);
  cuda::automorphism(tables(), in, automorphism.exponent, out, Queue(*this, stream));
}

void CudaBackend::add(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::add(basis(), a, b, out);
  cuda::pointwise(tables(), cuda::Pointwise::add, a, b, out, Queue(*this, stream));
}

void CudaBackend::subtract(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::add(basis(), a, b, out);
  cuda::pointwise(tables(), cuda::Pointwise::subtract, a, b, out, Queue(*this, stream));
}

void CudaBackend::negate(ConstView a, View out, const Stream& stream) const {
  shapes::unary(basis(), a, out);
  cuda::pointwise(tables(), cuda::Pointwise::negate, a, {}, out, Queue(*this, stream));
}

void CudaBackend::multiply(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::multiply(basis(), a, b, out);
  cuda::pointwise(tables(), cuda::Pointwise::multiply, a, b, out, Queue(*this, stream));
}

void CudaBackend::multiply_add(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::multiply(basis(), a, b, out);
  cuda::pointwise(tables(), cuda::Pointwise::multiply_add, a, b, out, Queue(*this, stream));
}

void CudaBackend::multiply_scalar(ConstView a, SignedWide scalar, View out, const Stream& stream) const {
  shapes::unary(basis(), a, out);
  cuda::multiply_scalar(tables(), a, scalar, out, Queue(*this, stream));
}

void CudaBackend::add_scalar(ConstView a, SignedWide scalar, View out, const Stream& stream) const {
  shapes::unary(basis(), a, out);
  cuda::add_scalar(tables(), a, scalar, out, Queue(*this, stream));
}

void CudaBackend::copy(ConstView in, View out, const Stream& stream) const {
  shapes::unary(basis(), in, out);
  cuda::pointwise(tables(), cuda::Pointwise::copy, in, {}, out, Queue(*this, stream));
}

void CudaBackend::tensor(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::tensor(basis(), a, b, out);
  cuda::tensor(tables(), a, b, false, out, Queue(*this, stream));
}

void CudaBackend::tensor_add(ConstView a, ConstView b, View out, const Stream& stream) const {
  shapes::tensor_add(basis(), a, b, out);
  cuda::tensor(tables(), a, b, true, out, Queue(*this, stream));
}

void CudaBackend::sum_products(std::span<const Term> terms, View special, View out,
                               const Stream& stream) const {
  shapes::sum_products(basis(), terms, special, out);
  const cuda::Products to = products(special, out);
  cuda::sum_products(tables(), terms, special.data == nullptr ? out.first_prime : 0,
                     to.low_limbs + to.high_limbs, to, Queue(*this, stream));
}

void CudaBackend::add_turned(ConstView a, ConstView b, Automorphism automorphism, bool accumulate,
                             View special, View out, const Stream& stream) const {
  shapes::add_turned(basis(), a, b, automorphism, accumulate, special, out);
  cuda::add_turned(tables(), a, b, automorphism.exponent, accumulate, products(special, out),
                   Queue(*this, stream));
}

void CudaBackend::lift(const std::int64_t* coefficients, View out, const Stream& stream) const {
  shapes::lift(basis(), coefficients, out);
  cuda::lift(tables(), coefficients, out, Queue(*this, stream));
}

void CudaBackend::expand(const std::byte* seed, int first, View out, const Stream& stream) const {
  shapes::expand(basis(), seed, first, out);
  cuda::expand(tables(), seed, first, out, {}, {}, Queue(*this, stream));
}

void CudaBackend::expand_half(const std::byte* seed, ConstView stored, View copied, View uniform,
                              const Stream& stream) const {
  shapes::unary(basis(), stored, copied);
  shapes::expand(basis(), seed, 0, uniform);
  FHERES_CHECK(uniform.limbs == copied.limbs && uniform.polynomials == copied.polynomials);
  cuda::expand(tables(), seed, 0, uniform, stored, copied, Queue(*this, stream));
}

void CudaBackend::decompose(const Source& source, Digits out, const Stream& stream) const {
  shapes::decompose(basis(), source, out);
  cuda::decompose(tables(), source, out, Queue(*this, stream));
}

void CudaBackend::mod_up(ConstDigits digits, View out, const Stream& stream) const {
  shapes::mod_up(basis(), digits, out);
  cuda::mod_up(tables(), digits, out, Queue(*this, stream));
}

void CudaBackend::key_product(ConstView extended, const Source& source, const std::uint64_t* key,
                              int key_digits, View out, const Stream& stream) const {
  shapes::key_product(basis(), extended, source, key, key_digits, out);
  cuda::key_product(tables(), extended, 1, source, key, key_digits, products({}, out), Queue(*this, stream));
}

void CudaBackend::hoisted_product(ConstView extended, const Source& source, const std::uint64_t* key,
                                  int key_digits, View out, const Stream& stream) const {
  shapes::hoisted_product(basis(), extended, source, key, key_digits, out);
  cuda::key_product(tables(), extended, source.automorphism.exponent, source, key, key_digits,
                    products({}, out), Queue(*this, stream));
}

void CudaBackend::hoisted_products(ConstView extended, ConstView source, ConstView addend,
                                   std::span<const Rotation> rotations, const Stream& stream) const {
  shapes::hoisted_products(basis(), extended, source, addend, rotations);
  cuda::hoisted_products(tables(), extended, source, addend, rotations, Queue(*this, stream));
}

void CudaBackend::hoisted_whole(ConstView extended, const Source& source, const std::uint64_t* key,
                                int key_digits, View special, View out, const Stream& stream) const {
  shapes::switch_whole(basis(), extended, special, out, {});
  shapes::hoisted_product(basis(), extended.limb_range(0, special.limbs), source, key, key_digits, special);
  shapes::hoisted_product(basis(), extended.limb_range(special.limbs, out.limbs), source, key, key_digits,
                          out);
  cuda::key_product(tables(), extended, source.automorphism.exponent, source, key, key_digits,
                    products(special, out), Queue(*this, stream));
}

void CudaBackend::switch_group(ConstDigits digits, const Source& source, const std::uint64_t* key,
                               int key_digits, View tile, View out, const Stream& stream) const {
  shapes::mod_up(basis(), digits, tile);
  shapes::key_product(basis(), tile, source, key, key_digits, out);
  cuda::switch_group(tables(), digits, source, key, key_digits, tile,
                     {cuda::array(out), {}, {}, out.limbs, 0}, Queue(*this, stream));
}

void CudaBackend::switch_whole(ConstDigits digits, const Source& source, const std::uint64_t* key,
                               int key_digits, View tile, View special, View out, View last,
                               const Stream& stream) const {
  shapes::mod_up(basis(), digits, tile);
  shapes::switch_whole(basis(), tile, special, out, last);
  cuda::switch_group(tables(), digits, source, key, key_digits, tile,
                     {cuda::array(special), cuda::array(out), cuda::array(last), special.limbs, out.limbs},
                     Queue(*this, stream));
}

void CudaBackend::divide_product(View special, View values, View last, ConstView a, ConstView b, View tile,
                                 const Stream& stream) const {
  // One launch takes the last limb for one more special limb where it stands like one; sums have room for 31 of those.
  const bool as_special = last.data == special.at(special.limbs, 0) &&
                          last.polynomial_stride == special.polynomial_stride && special.limbs < 32;
  if (!as_special) return Backend::divide_product(special, values, last, a, b, tile, stream);
  shapes::divide_product(basis(), special, values, last, a, b, tile);
  const scheme::Modulus& q = basis().prime(last.first_prime);
  const std::uint64_t inverse =
      basis().conversion().special_inverse[static_cast<std::size_t>(last.first_prime)].value;
  const std::uint64_t factor = mul_barrett(basis().ntt(last.first_prime).n_inverse.value, inverse, q);
  const std::uint64_t half = half_of(last.first_prime);
  cuda::divide_product(tables(), special, values, last, {make_shoup(factor, q.value), half, 0}, half, a, b,
                       tile, Queue(*this, stream));
}

void CudaBackend::begin_mod_down(View special, const Stream& stream) const {
  shapes::begin_mod_down(basis(), special);
  cuda::begin_mod_down(tables(), special, Queue(*this, stream));
}

void CudaBackend::mod_down(ConstView special, View values, ConstView addend, Automorphism automorphism,
                           View tile, const Stream& stream) const {
  shapes::mod_down(basis(), special, values, addend, automorphism, tile);
  cuda::mod_down(tables(), special, values, {addend, automorphism.exponent, {}}, tile, Queue(*this, stream));
}

void CudaBackend::mod_down_tensor(ConstView special, View values, ConstView a, ConstView b, View tile,
                                  const Stream& stream) const {
  shapes::mod_down(basis(), special, values, {}, {}, tile);
  shapes::tensor_add(basis(), a, b, values);
  cuda::mod_down(tables(), special, values, {a, 1, b}, tile, Queue(*this, stream));
}

void CudaBackend::rescale(ConstView in, std::uint64_t multiplier, View out, View last,
                          const Stream& stream) const {
  shapes::rescale(basis(), in, out, last);
  const Queue queue(*this, stream);
  cuda::begin_rescale(tables(), in.limb_range(in.limbs - 1, 1), last_end(last.first_prime, multiplier), last,
                      queue);
  cuda::finish_rescale(tables(), last, half_of(last.first_prime), in.limb_range(0, out.limbs), multiplier,
                       out, out, queue);
}

void CudaBackend::begin_rescale(View last, const Stream& stream) const {
  shapes::begin_rescale(basis(), last);
  cuda::begin_rescale(tables(), last, last_end(last.first_prime, 1), last, Queue(*this, stream));
}

void CudaBackend::finish_rescale(ConstView last, View values, View tile, const Stream& stream) const {
  shapes::finish_rescale(basis(), last, values, tile);
  cuda::finish_rescale(tables(), last, half_of(last.first_prime), values, 1, values, tile,
                       Queue(*this, stream));
}

}  // namespace

std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Basis> basis,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device, const CudaBackendOptions& options) {
  if (basis->log_n() < 10 || basis->log_n() > 17) {
    throw std::invalid_argument(
        fmt::format("expected N from 2^10 to 2^17 on a cuda device, got 2^{}", basis->log_n()));
  }
  if (options.graphs < 0) {
    throw std::invalid_argument(fmt::format("expected 0 or more graphs, got {}", options.graphs));
  }
  if (driver->name() != "cuda" || !device.is_cuda() || !driver->present(device)) {
    throw std::invalid_argument(fmt::format(
        "expected a cuda device of the cuda driver, got {} of the {} driver", device.name(), driver->name()));
  }
  return std::make_shared<const CudaBackend>(std::move(basis), std::move(driver), device, options);
}

std::shared_ptr<const Backend> make_cuda_backend(const scheme::Parameters& parameters,
                                                 std::shared_ptr<memory::Driver> driver,
                                                 memory::Location device, const CudaBackendOptions& options) {
  return make_cuda_backend(Basis::make(parameters), std::move(driver), device, options);
}

}  // namespace fheres::ring
