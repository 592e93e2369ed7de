#pragma once

#include <fheres/ckks/evaluator.hpp>

/// The one guard of every operation.
namespace fheres::ckks {

/// Throws scheme::StateError unless the operation takes these operands and gives `out`, and the workspace has
/// room. Returns how much of the workspace it uses.
Bytes validate(const Context& context, scheme::Operation operation, const Operands& operands,
               const CiphertextRef& out, Workspace workspace, int group);

/// The same for rotate_many and for a circuit.
void validate_rotations(const Context& context, const CiphertextView& a, std::span<const KeyView> keys,
                        std::span<const CiphertextRef> outs, Workspace workspace, int group);
void validate_circuit(const Context& context, const scheme::Circuit& circuit, const CiphertextView& a,
                      std::span<const KeyView> keys, const CiphertextRef& out, Workspace workspace,
                      int group);

void validate_transform(const scheme::LinearTransform& transform, const CiphertextView& a,
                        std::span<const PlaintextView> diagonals, std::span<const KeyView> keys,
                        const CiphertextRef& out, Workspace workspace);
/// Throws scheme::StateError unless `compact` is that, and `out` a prepared form of it.
void validate_expansion(const Context& context, const PlaintextView& compact, const PlaintextRef& out);

/// Throws scheme::StateError unless a plaintext is prepared, in the ntt domain, over Q.
void require_prepared(const scheme::ValueType& type);

}  // namespace fheres::ckks
