#include <cmath>
#include <stdexcept>

#include <fheres/scheme/circuit.hpp>
#include <fheres/workload/estimate.hpp>

namespace fheres::workload {
namespace {

using scheme::Estimate;

/// The largest message that leaves a sign and a spare bit above the scale in the base prime.
double largest_message(const scheme::Parameters& parameters) {
  return std::exp2(std::log2(static_cast<double>(parameters.q()[0].value)) - parameters.scale_bits() - 2);
}

std::optional<Estimate> declared(const scheme::Parameters& parameters, const Value& value) {
  if (!value.type || value.produced_by) return std::nullopt;
  const double size = value.message ? magnitude(*value.message) : largest_message(parameters);
  if (value.type->kind == scheme::Kind::ciphertext)
    return scheme::fresh_estimate(parameters, value.type->scale, size);
  if (value.type->kind == scheme::Kind::plaintext)
    return scheme::encoded_estimate(parameters, value.type->scale, size);
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<Estimate>> estimates(const Workload& workload) {
  if (!workload.world.parameters) throw std::invalid_argument("a workload without parameters has no errors");
  const scheme::Parameters& parameters = *workload.world.parameters;
  const std::vector<Value>& values = workload.world.values;
  std::vector<std::optional<Estimate>> result;
  for (const Value& value : values) result.push_back(declared(parameters, value));
  for (const Stage& stage : workload.stages) {
    std::vector<Estimate> results;
    for (const BodyOperation& step : stage.body) {
      std::vector<scheme::ValueType> types;
      std::vector<Estimate> operands;
      for (const Operand& operand : step.operands) {
        const bool value = operand.from == Operand::From::value;
        types.push_back(value ? *values[operand.index].type : stage.body[operand.index].type);
        operands.push_back(value ? result[operand.index].value() : results[operand.index]);
      }
      if (step.transform) {
        std::vector<double> magnitudes;
        for (std::size_t i = 1; i < operands.size(); ++i) magnitudes.push_back(operands[i].magnitude);
        results.push_back(
            step.transform->estimate(types.front(), operands.front(), types[1].scale, magnitudes));
        continue;
      }
      if (step.circuit) {
        results.push_back(step.circuit->estimate(operands.front()));
        continue;
      }
      const scheme::ValueType* key = step.key ? &*values[step.key->index].type : nullptr;
      results.push_back(scheme::estimate(parameters, step.operation, types, operands, key,
                                         step.scalar ? &*step.scalar : nullptr));
    }
    for (const Output& output : stage.outputs) result[output.value] = results[output.result];
  }
  return result;
}

}  // namespace fheres::workload
