#include "ckks/validate.hpp"

#include <array>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/scheme/rotations.hpp>

namespace fheres::ckks {
namespace {

using scheme::Operation;

void check_type(std::string_view name, std::string_view which, const scheme::ValueType& expected,
                const scheme::ValueType& out) {
  const auto refuse = [&](const std::string& why) {
    throw scheme::StateError(fmt::format("{}: the {} {}", name, which, why));
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

void check_workspace(std::string_view name, Bytes given, Bytes expected) {
  if (given >= expected) return;
  throw scheme::StateError(
      fmt::format("{}: workspace of {} bytes, expected at least {}", name, given, expected));
}

[[noreturn]] void refuse_place(std::string_view name) {
  throw scheme::StateError(fmt::format("{}: the result stands in an operand's place", name));
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
  check_type(name(operation), "result", signature.result, out.type());
  check_workspace(name(operation), workspace.size(), signature.workspace);
  if (!scheme::works_in_place(operation)) {
    for (const CiphertextView& operand : operands.ciphertexts) {
      if (operand.data() == out.data()) refuse_place(name(operation));
    }
  }
  return signature.workspace;
}

void validate_rotations(const Context& context, const CiphertextView& a, std::span<const KeyView> keys,
                        std::span<const CiphertextRef> outs, Workspace workspace, int group) {
  constexpr std::string_view kName = "rotate_many";
  if (keys.size() != outs.size()) {
    throw scheme::StateError(fmt::format("{}: {} results for {} keys", kName, outs.size(), keys.size()));
  }
  std::vector<scheme::ValueType> types;
  for (const KeyView& key : keys) types.push_back(key.type());
  const scheme::Signature signature = scheme::infer_rotate_many(context.parameters(), a.type(), types, group);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    check_type(kName, "result", signature.result, outs[i].type());
    if (outs[i].data() == a.data()) refuse_place(kName);
    for (std::size_t j = 0; j < i; ++j) {
      if (outs[i].data() != outs[j].data()) continue;
      throw scheme::StateError(fmt::format("{}: results {} and {} stand in one place", kName, j + 1, i + 1));
    }
  }
  check_workspace(kName, workspace.size(), signature.workspace);
}

void validate_circuit(const Context& context, const scheme::Circuit& circuit, const CiphertextView& a,
                      std::span<const KeyView> keys, const CiphertextRef& out, Workspace workspace,
                      int group) {
  constexpr std::string_view kName = "circuit";
  FHERES_CHECK(circuit.parameters() == context.parameters() && circuit.group() == group);
  check_type(kName, "operand", circuit.input(), a.type());
  if (keys.size() != circuit.keys().size()) {
    throw scheme::StateError(
        fmt::format("{}: {} keys, expected {}", kName, keys.size(), circuit.keys().size()));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].type() == circuit.keys()[i]) continue;
    throw scheme::StateError(
        fmt::format("{}: key {} is a {} of level {} for {} steps, expected a {} of level {} for {}", kName,
                    i + 1, scheme::name(keys[i].type().kind), keys[i].type().level, keys[i].type().steps,
                    scheme::name(circuit.keys()[i].kind), circuit.keys()[i].level, circuit.keys()[i].steps));
  }
  const scheme::Signature signature = circuit.signature();
  check_type(kName, "result", signature.result, out.type());
  check_workspace(kName, workspace.size(), signature.workspace);
  if (a.data() == out.data()) refuse_place(kName);
}

void validate_transform(const scheme::LinearTransform& transform, const CiphertextView& a,
                        std::span<const PlaintextView> diagonals, std::span<const KeyView> keys,
                        const CiphertextRef& out, Workspace workspace) {
  constexpr std::string_view kName = "linear_transform";
  std::vector<scheme::ValueType> plain_types, key_types;
  for (const PlaintextView& diagonal : diagonals) plain_types.push_back(diagonal.type());
  for (const KeyView& key : keys) key_types.push_back(key.type());
  const scheme::Signature signature = transform.infer(a.type(), plain_types, key_types);
  check_type(kName, "result", signature.result, out.type());
  check_workspace(kName, workspace.size(), signature.workspace);
  if (a.data() == out.data()) refuse_place(kName);
}

void validate_expansion(const Context& context, const PlaintextView& compact, const PlaintextRef& out) {
  using scheme::PlaintextForm;
  const scheme::Parameters& parameters = context.parameters();
  const auto refuse = [](const std::string& why) { throw scheme::StateError("expand: " + why); };
  const scheme::ValueType& in = compact.type();
  if (in != scheme::plaintext_type(parameters, in.level, in.scale, PlaintextForm::compact))
    refuse("the operand is not of the form compact");
  const scheme::ValueType& to = out.type();
  if (to.plaintext_form == PlaintextForm::compact)
    refuse("the result is of the form compact, expected a prepared one");
  if (to.level < in.level)
    refuse(fmt::format("the result has level {}, expected {} or later", to.level, in.level));
  if (to.scale != in.scale)
    refuse(fmt::format("the result has scale {}, expected {}", to.scale.text(), in.scale.text()));
  if (to != scheme::plaintext_type(parameters, to.level, to.scale, to.plaintext_form))
    refuse("the result has another domain or basis than its form");
}

void require_prepared(const scheme::ValueType& type) {
  if (type.plaintext_form != scheme::PlaintextForm::prepared || type.domain != scheme::Domain::ntt ||
      type.basis != scheme::Basis::q) {
    throw scheme::StateError("expected a prepared plaintext over Q in the ntt domain");
  }
}

}  // namespace fheres::ckks
