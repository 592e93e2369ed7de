#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fheres/base/bytes.hpp>
#include <fheres/scheme/value_type.hpp>

namespace fheres::scheme {

/// An operand has the wrong level, scale, domain, kind or component count. Code `scheme/state`.
class StateError : public Error {
 public:
  explicit StateError(const std::string& message) : Error("scheme/state", message) {}
};

/// The operations of a workload's body, and of the evaluator. Names in documents are name(op).
///
/// plain_sub and scalar_sub take the ciphertext from the other: operand 2 - operand 1. multiply_rescale and
/// square_rescale are multiply with a key, then rescale, to the same residues, without storing what is in
/// between.
enum class Operation {
  add,
  sub,
  negate,
  add_plain,
  sub_plain,
  plain_sub,
  add_scalar,
  sub_scalar,
  scalar_sub,
  multiply,
  multiply_plain,
  multiply_scalar,
  multiply_rescale,
  square,
  square_rescale,
  relinearize,
  rescale,
  mod_switch,
  rotate,
  conjugate
};
/// All of them, in that order.
std::span<const Operation> operations();
std::string_view name(Operation operation);
std::optional<Operation> operation_named(std::string_view name);
/// How many ciphertext and plaintext operands it takes (a key is not one of them).
int operand_count(Operation operation);
/// Whether the second operand is a plaintext (every other operand is a ciphertext).
bool takes_plaintext(Operation operation);
bool takes_scalar(Operation operation);
/// Whether the result may stand in the place of operand 1 (of add and sub, also of operand 2).
bool works_in_place(Operation operation);
/// By how many levels the result is below operand 1: 0 or 1.
int levels_down(Operation operation);
enum class KeyUse { none, optional, required };
KeyUse key_use(Operation operation);

/// A real number that stands in every slot.
struct Scalar {
  double value = 0;
  /// Of multiply_scalar: what it is scaled by, and the product's scale with it. Absent: the canonical scale
  /// of the ciphertext's level, so that a rescale leads from canonical scale to canonical scale; 2^0
  /// multiplies by whole numbers and uses up no level. Added and subtracted scalars take the ciphertext's
  /// scale.
  std::optional<Scale> scale;
};
/// The integer nearest to value * scale (both as doubles, half to even), which is what the operation adds to
/// the constant coefficient or multiplies by. StateError unless the scalar is finite and the integer below
/// 2^126.
__int128 integer_of(const Parameters& parameters, Operation operation, const ValueType& operand,
                    const Scalar& scalar);

/// What an operation gives, and what it needs while it runs.
struct Signature {
  ValueType result;
  Bytes workspace = 0;
};

/// The one place that says what an operation takes: documents use it for diagnostics before anything runs,
/// the evaluator for its operand checks, layouts for bytes. `key` is the key's type, where one is given.
/// `group` is the number of output limbs that a key switch works on at a time (0: all at once). `scalar` is
/// given exactly where the operation takes one. Throws StateError with both figures; names operands by
/// position (`operand 1`).
Signature infer(const Parameters& parameters, Operation operation, std::span<const ValueType> operands,
                const ValueType* key = nullptr, int group = 0, const Scalar* scalar = nullptr);

}  // namespace fheres::scheme
