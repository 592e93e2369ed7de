#include "inference.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <fheres/scheme/rotations.hpp>

namespace fheres::workload {
namespace {

using scheme::ValueType;

class Inference {
 public:
  Inference(WorldCheck& check, std::vector<Stage>& stages, Problems& problems)
      : check_(check), parameters_(*check.world.parameters), stages_(stages), problems_(problems) {}

  std::vector<bool> run() {
    find_levels();
    std::vector<bool> complete(stages_.size(), true);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      results_.assign(stages_[s].body.size(), std::nullopt);
      group_ = stages_[s].key_switch_group;
      for (std::size_t o = 0; o < stages_[s].body.size(); ++o) {
        results_[o] = type_of_result(stages_[s].body[o]);
        if (!results_[o] || !share_decomposition(stages_[s], o)) complete[s] = false;
      }
      for (const Output& output : stages_[s].outputs) {
        if (const auto& type = results_[output.result]) {
          set_type(parameters_, *type, check_.world.values[output.value]);
        }
      }
    }
    settle_types(check_);
    return complete;
  }

 private:
  /// Levels do not depend on scales, so one pass along the stages finds where each plaintext and key is used first.
  void find_levels() {
    std::map<ValueIndex, int> outputs;
    for (const Stage& stage : stages_) {
      std::vector<int> results(stage.body.size());
      const auto level_of = [&](const Operand& operand) {
        if (operand.from == Operand::From::result) return results[operand.index];
        if (const auto& type = check_.world.values[operand.index].type) return type->level;
        const auto output = outputs.find(operand.index);
        return output == outputs.end() ? 0 : output->second;
      };
      for (std::size_t o = 0; o < stage.body.size(); ++o) {
        const BodyOperation& operation = stage.body[o];
        if (operation.operands.empty()) continue;
        const int level = level_of(operation.operands[0]);
        for (std::size_t i = 1; takes_plaintexts(operation) && i < operation.operands.size(); ++i)
          use_at(operation.operands[i], level);
        if (operation.key) use_at(*operation.key, level);
        for (const Operand& key : operation.keys) use_at(key, level);
        results[o] = std::min(level + levels_down(operation), parameters_.max_level());
      }
      for (const Output& output : stage.outputs) outputs[output.value] = results[output.result];
    }
  }

  static int levels_down(const BodyOperation& operation) {
    if (!operation.composite) return scheme::levels_down(operation.operation);
    const auto* polynomial = std::get_if<Polynomial>(&*operation.composite);
    return polynomial ? scheme::polynomial_depth(polynomial->coefficients) : 0;
  }

  void use_at(const Operand& operand, int level) {
    if (operand.from != Operand::From::value) return;
    const auto [found, inserted] = freshest_.emplace(operand.index, level);
    if (!inserted) found->second = std::min(found->second, level);
  }

  /// The type of an operand, settling a plaintext or key that is used for the first time. `user` is the ciphertext that
  /// a plaintext is combined with.
  const ValueType* type_of(const Operand& operand, const ValueType* user) {
    if (operand.from == Operand::From::result) {
      const auto& type = results_[operand.index];
      return type ? &*type : nullptr;
    }
    Value& value = check_.world.values[operand.index];
    if (!value.type && operand.index < check_.drafts.size()) settle(operand.index, user);
    return value.type ? &*value.type : nullptr;
  }

  void settle(ValueIndex index, const ValueType* user) {
    const ValueDraft& draft = check_.drafts[index];
    if (!has_type(parameters_, draft)) return;
    const auto freshest = freshest_.find(index);
    const int automatic = freshest == freshest_.end() ? 0 : freshest->second;
    const int level = std::clamp(draft.level.value_or(automatic), 0, parameters_.max_level());
    std::optional<scheme::Scale> scale;
    if (draft.for_addition && user) scale = user->scale;
    check_compact(draft, scale.value_or(parameters_.canonical_scale(level)));
    set_type(parameters_, type_at(parameters_, draft, level, scale), check_.world.values[index]);
  }

  /// One word a coefficient holds no more than 63 bits and a sign.
  void check_compact(const ValueDraft& draft, const scheme::Scale& scale) {
    const double size = draft.message ? std::max(1.0, magnitude(*draft.message)) : 1.0;
    const double bits = scale.log2() + std::log2(size);
    if (!draft.compact || bits <= 62) return;
    problems_.add("FHR0306", draft.form_place,
                  fmt::format("`{}` reaches {:.0f} bits at scale {}, and a compact plaintext holds 62",
                              draft.name.text, bits, scale.text()));
  }

  std::optional<ValueType> type_of_result(BodyOperation& operation) {
    if (operation.operands.empty()) return std::nullopt;
    std::vector<ValueType> operands;
    for (const Operand& operand : operation.operands) {
      const ValueType* type = type_of(operand, operands.empty() ? nullptr : &operands.front());
      if (!type) return std::nullopt;
      operands.push_back(*type);
    }
    const ValueType* key = nullptr;
    if (operation.key) {
      key = type_of(*operation.key, nullptr);
      if (!key) return std::nullopt;
    }
    std::vector<ValueType> keys;
    for (const Operand& operand : operation.keys) {
      const ValueType* type = type_of(operand, nullptr);
      if (!type) return std::nullopt;
      keys.push_back(*type);
    }
    try {
      if (operation.composite) {
        if (operation.transform) {
          const scheme::Signature signature =
              operation.transform->infer(operands[0], std::span(operands).subspan(1), keys);
          operation.type = signature.result;
          operation.scratch_bytes = signature.workspace;
          return operation.type;
        }
        operation.circuit = std::make_shared<const scheme::Circuit>(circuit_of(operation, operands[0], keys));
        operation.type = operation.circuit->signature().result;
        operation.scratch_bytes = operation.circuit->signature().workspace;
        return operation.type;
      }
      const scheme::Signature signature =
          scheme::infer(parameters_, operation.operation, operands, key, group_,
                        operation.scalar ? &*operation.scalar : nullptr);
      operation.type = signature.result;
      operation.scratch_bytes = signature.workspace;
      return operation.type;
    } catch (const scheme::StateError& error) {
      problems_.add("FHR0404", operation.place, error.what());
      return std::nullopt;
    }
  }

  /// The workspace of rotate_many stands with its first result. Each result was inferred as its own rotation.
  bool share_decomposition(Stage& stage, std::size_t last) {
    const auto& turns = stage.body[last].turns;
    if (!turns || last + 1 != turns->first + turns->count) return true;
    std::vector<ValueType> keys;
    for (std::size_t i = turns->first; i <= last; ++i) {
      stage.body[i].scratch_bytes = 0;
      if (!results_[i]) return false;
      keys.push_back(*check_.world.values[stage.body[i].key->index].type);
    }
    BodyOperation& first = stage.body[turns->first];
    first.scratch_bytes = scheme::infer_rotate_many(parameters_, first.type, keys, group_).workspace;
    return true;
  }

  scheme::Circuit circuit_of(const BodyOperation& operation, const ValueType& operand,
                             const std::vector<ValueType>& keys) const {
    if (const auto* sum = std::get_if<SumSlots>(&*operation.composite))
      return scheme::sum_slots(parameters_, operand, sum->count, keys, group_);
    const auto& polynomial = std::get<Polynomial>(*operation.composite);
    return scheme::polynomial(parameters_, operand, polynomial.coefficients, polynomial.basis, keys, group_);
  }

  WorldCheck& check_;
  const scheme::Parameters& parameters_;
  std::vector<Stage>& stages_;
  Problems& problems_;
  std::map<ValueIndex, int> freshest_;
  std::vector<std::optional<ValueType>> results_;  // of the stage at hand
  int group_ = 0;                                  // its key switches'
};

}  // namespace

std::vector<bool> infer_types(WorldCheck& check, std::vector<Stage>& stages, Problems& problems) {
  return Inference(check, stages, problems).run();
}

}  // namespace fheres::workload
