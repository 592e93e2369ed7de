#pragma once

#include <functional>

#include <fheres/ring/backend.hpp>

namespace fheres::ring::cpu {

/// ring::Backend on the host. Pointwise operations and transforms in backend.cpp, key switching in
/// key_switch.cpp, expansion of seeds in expand.cpp.
class CpuBackend final : public Backend {
 public:
  CpuBackend(std::shared_ptr<const Basis> basis, std::shared_ptr<memory::Driver> driver)
      : Backend(std::move(basis)), driver_(std::move(driver)) {}

  std::string name() const override { return "cpu"; }
  Bytes table_bytes() const override;

  void forward(View values, const memory::Stream& stream) const override;
  void inverse(ConstView in, View out, const memory::Stream& stream) const override;
  void automorphism(ConstView in, Automorphism automorphism, View out,
                    const memory::Stream& stream) const override;
  void add(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void subtract(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void negate(ConstView a, View out, const memory::Stream& stream) const override;
  void multiply(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void multiply_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void multiply_scalar(ConstView a, SignedWide scalar, View out, const memory::Stream& stream) const override;
  void add_scalar(ConstView a, SignedWide scalar, View out, const memory::Stream& stream) const override;
  void copy(ConstView in, View out, const memory::Stream& stream) const override;
  void tensor(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void tensor_add(ConstView a, ConstView b, View out, const memory::Stream& stream) const override;
  void sum_products(std::span<const Term> terms, View special, View out,
                    const memory::Stream& stream) const override;
  void add_turned(ConstView a, ConstView b, Automorphism automorphism, bool accumulate, View special,
                  View out, const memory::Stream& stream) const override;
  void lift(const std::int64_t* coefficients, View out, const memory::Stream& stream) const override;
  void expand(const std::byte* seed, int first, View out, const memory::Stream& stream) const override;
  void decompose(const Source& source, Digits out, const memory::Stream& stream) const override;
  void mod_up(ConstDigits digits, View out, const memory::Stream& stream) const override;
  void key_product(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                   View out, const memory::Stream& stream) const override;
  void hoisted_product(ConstView extended, const Source& source, const std::uint64_t* key, int key_digits,
                       View out, const memory::Stream& stream) const override;
  void hoisted_products(ConstView extended, ConstView source, ConstView addend,
                        std::span<const Rotation> rotations, const memory::Stream& stream) const override;
  void begin_mod_down(View special, const memory::Stream& stream) const override;
  void mod_down(ConstView special, View values, ConstView addend, Automorphism automorphism, View tile,
                const memory::Stream& stream) const override;
  void rescale(ConstView in, std::uint64_t multiplier, View out, View last,
               const memory::Stream& stream) const override;
  void begin_rescale(View last, const memory::Stream& stream) const override;
  void finish_rescale(ConstView last, View values, View tile, const memory::Stream& stream) const override;

 private:
  /// Runs `work` now, or in the stream's order.
  void run(const memory::Stream& stream, std::function<void()> work) const;
  /// add and subtract: op(x, y, q) a word; polynomials that b lacks are a's.
  template <class Op>
  void combine(ConstView a, ConstView b, View out, const memory::Stream& stream, Op op) const;

  /// key_product, `extended` and what is added read through an automorphism.
  void product(ConstView extended, Automorphism automorphism, const Source& source, const std::uint64_t* key,
               int key_digits, ConstView addend, View out, const memory::Stream& stream) const;

  std::shared_ptr<memory::Driver> driver_;
};

}  // namespace fheres::ring::cpu
