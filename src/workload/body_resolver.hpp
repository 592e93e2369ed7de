#pragma once

#include <map>
#include <optional>
#include <vector>

#include <fheres/workload/draft.hpp>
#include <fheres/workload/stage.hpp>

#include "references.hpp"
#include "world.hpp"

namespace fheres::workload {

/// Resolves the operations of stages' bodies: what they are, what they read, and their keys, found by name, by kind or
/// by steps. Reports what is wrong with them, short of levels and scales, which inference finds.
///
/// A plaintext that is a diagonal of a linear transform is found here, and told so (ValueDraft::giant_step).
class BodyResolver {
 public:
  /// All of them outlive it. Stages in order, and each one's operations in order.
  BodyResolver(const std::vector<StageDraft>& stages, WorldCheck& check, const References& references,
               Problems& problems)
      : stages_(stages), check_(check), references_(references), problems_(problems) {}

  /// Without operands where anything about them was wrong.
  BodyOperation operation(std::size_t stage, std::size_t index);

 private:
  /// Where a draft stands.
  struct At {
    std::size_t stage;
    std::size_t operation;  // what it reads is made before that one
  };
  void resolve_turn(const OperationDraft& draft, At at, BodyOperation& result);
  void resolve_composite(const OperationDraft& draft, At at, Composite composite, BodyOperation& result);
  bool resolve_sum(const OperationDraft& draft, SumSlots& sum, BodyOperation& result);
  bool resolve_polynomial(const OperationDraft& draft, At at, Polynomial& polynomial, BodyOperation& result);
  bool resolve_transform(const OperationDraft& draft, At at, LinearTransform& transform,
                         BodyOperation& result, std::vector<Operand>& diagonals);
  /// Nothing, and a problem, where one of them is wrong.
  std::optional<std::vector<Operand>> resolve_operands(const OperationDraft& draft, At at, int count,
                                                       bool plain_second);
  bool is_kind(const Operand& operand, ValueKind expected, const Name& name);
  /// A plaintext is a diagonal of one giant step (absent: no diagonal) in all of its uses.
  bool is_used_so(const Operand& operand, std::optional<int> giant_step, const Name& name);
  bool resolve_key(const OperationDraft& draft, At at, scheme::Operation operation, BodyOperation& result);
  bool finds_its_keys(const OperationDraft& draft);
  std::int64_t slot_steps(std::int64_t steps) const;
  /// The first declared rotation key for those steps.
  std::optional<ValueIndex> key_for(std::int64_t steps);
  /// A key that is not named: of a rotation by steps, the declared key for them.
  bool find_key(const OperationDraft& draft, ValueKind kind, BodyOperation& result);
  /// The same for each of these steps; one problem that names all that have none.
  bool find_keys(const OperationDraft& draft, const std::vector<std::int64_t>& steps, BodyOperation& result);

  struct PlaintextUse {
    std::optional<int> giant_step;
    Place place;
  };

  const std::vector<StageDraft>& stages_;
  WorldCheck& check_;
  const References& references_;
  Problems& problems_;
  std::optional<std::map<std::int64_t, ValueIndex>> rotation_keys_;  // by steps, once one was asked for
  std::map<ValueIndex, PlaintextUse> plaintext_uses_;
};

}  // namespace fheres::workload
