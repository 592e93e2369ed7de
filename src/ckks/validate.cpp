#include "ckks/validate.hpp"

#include <array>

#include <fmt/format.h>

namespace fheres::ckks {
namespace {

using scheme::Operation;

void check_result(Operation operation, const scheme::ValueType& expected, const scheme::ValueType& out) {
  const auto refuse = [&](const std::string& why) {
    throw scheme::StateError(fmt::format("{}: the result {}", name(operation), why));
  };
  if (out.level != expected.level)
    refuse(fmt::format("has level {}, expected {}", out.level, expected.level));
  if (out.components != expected.components) {
    refuse(fmt::format("has {} components, expected {}", out.components, expected.components));
  }
  if (out.scale != expected.scale) {
    refuse(fmt::format("has scale {}, expected {}", out.scale.text(), expected.scale.text()));
  }
  if (out != expected) refuse("has another domain or basis than expected");
}

}  // namespace

Bytes validate(const Context& context, Operation operation, const Operands& operands,
               const CiphertextRef& out, Workspace workspace, int group) {
  // No operation takes more than two, so nothing is allocated; one more makes a wrong count visible to infer.
  std::array<scheme::ValueType, 3> types;
  std::size_t count = 0;
  const auto add = [&](const scheme::ValueType& type) {
    if (count < types.size()) types[count++] = type;
  };
  for (const CiphertextView& operand : operands.ciphertexts) add(operand.type());
  if (operands.plaintext != nullptr) add(operands.plaintext->type());
  const scheme::ValueType* key = operands.key == nullptr ? nullptr : &operands.key->type();
  const scheme::Signature signature = scheme::infer(
      context.parameters(), operation, std::span(types).first(count), key, group, operands.scalar);
  check_result(operation, signature.result, out.type());
  if (workspace.size() < signature.workspace) {
    throw scheme::StateError(fmt::format("{}: workspace of {} bytes, expected at least {}", name(operation),
                                         workspace.size(), signature.workspace));
  }
  if (!scheme::works_in_place(operation)) {
    for (const CiphertextView& operand : operands.ciphertexts) {
      if (operand.data() == out.data()) {
        throw scheme::StateError(fmt::format("{}: the result stands in an operand's place", name(operation)));
      }
    }
  }
  return signature.workspace;
}

void require_prepared(const scheme::ValueType& type) {
  if (type.plaintext_form != scheme::PlaintextForm::prepared || type.domain != scheme::Domain::ntt ||
      type.basis != scheme::Basis::q) {
    throw scheme::StateError("expected a prepared plaintext over Q in the ntt domain");
  }
}

}  // namespace fheres::ckks
