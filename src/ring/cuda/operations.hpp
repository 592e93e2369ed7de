#pragma once

#include <span>

#include <fheres/ring/poly.hpp>

#include "ring/cuda/transform.hpp"

// The launches behind ring::Backend, one function a group of operations. Shapes have been checked; every function
// queues kernels on `stream` and throws memory::DeviceError when one was not queued. The current device must be the
// stream's.
namespace fheres::ring::cuda {

/// Where polynomials over several limbs go, a key product's two for one: the first low_limbs limbs to `low`, then
/// high_limbs to `high`, and one that is left to `last`.
struct Products {
  Array low;
  Array high;
  Array last;
  int low_limbs = 0;
  int high_limbs = 0;

  FHERES_INLINE u64* at(int limb, int component) const {
    if (limb < low_limbs) return low.at(limb, component);
    const int above = limb - low_limbs;
    return above < high_limbs ? high.at(above, component) : last.at(above - high_limbs, component);
  }
};

// pointwise.cu
enum class Pointwise { add, subtract, negate, multiply, multiply_add, copy };
/// out = a op b. b is read for polynomials it has; multiply and multiply_add let one polynomial of b serve all.
void pointwise(const Tables& tables, Pointwise operation, ConstView a, ConstView b, View out,
               cudaStream_t stream);
void multiply_scalar(const Tables& tables, ConstView a, SignedWide scalar, View out, cudaStream_t stream);
void add_scalar(const Tables& tables, ConstView a, SignedWide scalar, View out, cudaStream_t stream);
/// accumulate: two polynomials out, added to what is there; else three.
void tensor(const Tables& tables, ConstView a, ConstView b, bool accumulate, View out, cudaStream_t stream);
void lift(const Tables& tables, const std::int64_t* coefficients, View out, cudaStream_t stream);
void automorphism(const Tables& tables, ConstView in, std::uint32_t exponent, View out, cudaStream_t stream);

/// `out` has `limbs` limbs, from first_prime on. Terms cover all of them, or the same last ones.
void sum_products(const Tables& tables, std::span<const Term> terms, int first_prime, int limbs,
                  const Products& out, cudaStream_t stream);
void add_turned(const Tables& tables, ConstView a, ConstView b, std::uint32_t exponent, bool accumulate,
                const Products& out, cudaStream_t stream);

// expand.cu
/// `stored` goes to `copied`, where it has data.
void expand(const Tables& tables, const std::byte* seed, int first, View out, ConstView stored, View copied,
            cudaStream_t stream);

// key_switch.cu
void decompose(const Tables& tables, const Source& source, Digits out, cudaStream_t stream);
void mod_up(const Tables& tables, ConstDigits digits, View out, cudaStream_t stream);
/// mod_up and key_product in one.
void switch_group(const Tables& tables, ConstDigits digits, const Source& source, const u64* key,
                  int key_digits, View tile, const Products& out, cudaStream_t stream);

// key_product.cu
/// `extended` is read through X -> X^exponent; 1 changes nothing.
void key_product(const Tables& tables, ConstView extended, std::uint32_t exponent, const Source& source,
                 const u64* key, int key_digits, const Products& out, cudaStream_t stream);
void hoisted_products(const Tables& tables, ConstView extended, ConstView source, ConstView addend,
                      std::span<const Rotation> rotations, cudaStream_t stream);
/// The forward row pass of `extended` and key_product in one launch.
void product_rows(const Tables& tables, ConstView extended, const Source& source, const u64* key,
                  int key_digits, const Products& out, cudaStream_t stream);
bool worth_fusing(const Tables& tables, ConstView extended);

// division.cu
void begin_mod_down(const Tables& tables, View special, cudaStream_t stream);
/// What mod_down adds: nothing (null data), values read through X -> X^exponent, or where there is a factor the first
/// two terms of their product, two polynomials each.
struct Addend {
  ConstView values;
  std::uint32_t exponent = 1;
  ConstView factor;
};
void mod_down(const Tables& tables, ConstView special, View values, const Addend& addend, View tile,
              cudaStream_t stream);
/// Backend::divide_product. `last` stands in memory as one more limb of `special`, and its prime is in doubles or not;
/// `end` is how its inverse transform ends: 1 / (N P), plus half.
void divide_product(const Tables& tables, View special, View values, View last, const Affine& end, u64 half,
                    ConstView a, ConstView b, View tile, cudaStream_t stream);
/// y of one limb, which may be `last` itself; `end` is how its inverse transform ends: multiplier / N, plus half.
void begin_rescale(const Tables& tables, ConstView in_last, const Affine& end, View last,
                   cudaStream_t stream);
/// out = (in multiplier - z) / q_last by way of `tile`, which may be `out`; `out` may be `in`, and then is not the
/// tile. half = (q_last - 1) / 2.
void finish_rescale(const Tables& tables, ConstView last, u64 half, ConstView in, u64 multiplier, View out,
                    View tile, cudaStream_t stream);

}  // namespace fheres::ring::cuda
