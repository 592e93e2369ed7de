#pragma once

#include <fheres/ring/backend.hpp>

/// The shape checks of ring::Backend's contract, one an operation, shared by the back ends so that both
/// refuse the same. Each throws std::logic_error. Overlap is checked only where it is cheap: equal data
/// pointers.
namespace fheres::ring::shapes {

void forward(const Basis& basis, View values);
void inverse(const Basis& basis, ConstView in, View out);
void automorphism(const Basis& basis, ConstView in, Automorphism automorphism, View out);
/// add, subtract.
void add(const Basis& basis, ConstView a, ConstView b, View out);
/// negate, multiply_scalar, add_scalar, copy.
void unary(const Basis& basis, ConstView a, View out);
/// multiply, multiply_add.
void multiply(const Basis& basis, ConstView a, ConstView b, View out);
void tensor(const Basis& basis, ConstView a, ConstView b, View out);
void tensor_add(const Basis& basis, ConstView a, ConstView b, View out);
void sum_products(const Basis& basis, std::span<const Term> terms, ConstView special, ConstView out);
void add_turned(const Basis& basis, ConstView a, ConstView b, Automorphism automorphism, bool accumulate,
                ConstView special, ConstView out);
void lift(const Basis& basis, const std::int64_t* coefficients, View out);
void expand(const Basis& basis, const std::byte* seed, int first, View out);
void decompose(const Basis& basis, const Source& source, Digits out);
void mod_up(const Basis& basis, ConstDigits digits, View out);
void key_product(const Basis& basis, ConstView extended, const Source& source, const std::uint64_t* key,
                 int key_digits, View out);
void hoisted_product(const Basis& basis, ConstView extended, const Source& source, const std::uint64_t* key,
                     int key_digits, View out);
void hoisted_products(const Basis& basis, ConstView extended, ConstView source, ConstView addend,
                      std::span<const Rotation> rotations);
/// What switch_whole asks of its views together; the rest as in mod_up and key_product.
void switch_whole(const Basis& basis, ConstView tile, ConstView special, ConstView out, ConstView last);
void divide_product(const Basis& basis, View special, View values, View last, ConstView a, ConstView b,
                    View tile);
void begin_mod_down(const Basis& basis, View special);
void mod_down(const Basis& basis, ConstView special, View values, ConstView addend, Automorphism automorphism,
              View tile);
void rescale(const Basis& basis, ConstView in, View out, View last);
void begin_rescale(const Basis& basis, View last);
void finish_rescale(const Basis& basis, ConstView last, View values, View tile);

}  // namespace fheres::ring::shapes
