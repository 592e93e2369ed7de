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
enum class Operation {
  add,
  sub,
  negate,
  add_plain,
  sub_plain,
  multiply,
  multiply_plain,
  square,
  relinearize,
  rescale,
  mod_switch,
  rotate,
  conjugate
};
std::string_view name(Operation operation);
std::optional<Operation> operation_named(std::string_view name);
/// How many ciphertext and plaintext operands it takes (a key is not one of them).
int operand_count(Operation operation);
/// Whether the second operand is a plaintext (every other operand is a ciphertext).
bool takes_plaintext(Operation operation);
enum class KeyUse { none, optional, required };
KeyUse key_use(Operation operation);

/// What an operation gives, and what it needs while it runs.
struct Signature {
  ValueType result;
  Bytes workspace = 0;
};

/// The one place that says what an operation takes: documents use it for diagnostics before anything runs,
/// the evaluator for its operand checks, layouts for bytes. `key` is the key's type, where one is given.
/// `group` is the number of output limbs that a key switch works on at a time (0: all at once).
/// Throws StateError with both figures; names operands by position (`operand 1`).
Signature infer(const Parameters& parameters, Operation operation, std::span<const ValueType> operands,
                const ValueType* key = nullptr, int group = 0);

}  // namespace fheres::scheme
