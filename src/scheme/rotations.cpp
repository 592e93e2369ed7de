#include <bit>

#include <fmt/format.h>

#include <fheres/scheme/rotations.hpp>
#include <fheres/scheme/sizes.hpp>

namespace fheres::scheme {
namespace {

void check_count(const Parameters& parameters, std::uint64_t count) {
  if (count < 2 || count > parameters.slots() || !std::has_single_bit(count)) {
    throw StateError(fmt::format("sum_slots: it sums {} slots, expected a power of two from 2 to {}", count,
                                 parameters.slots()));
  }
}

}  // namespace

Signature infer_rotate_many(const Parameters& parameters, const ValueType& operand,
                            std::span<const ValueType> keys, int group) {
  if (keys.empty()) throw StateError("rotate_many: it has 0 keys, expected at least 1");
  for (const ValueType& key : keys) {
    const bool conjugates = key.kind == Kind::conjugation_key;
    infer(parameters, conjugates ? Operation::conjugate : Operation::rotate, {&operand, 1}, &key, group);
  }
  return {operand, hoisted_workspace(parameters, operand.level, static_cast<int>(keys.size()), group)};
}

Circuit sum_slots(const Parameters& parameters, const ValueType& operand, std::uint64_t count,
                  std::span<const ValueType> keys, int group) {
  check_count(parameters, count);
  Circuit circuit(parameters, operand, keys, group);
  int sum = Circuit::kInput;
  for (std::uint64_t steps = 1; steps < count; steps *= 2) {
    const int turned = circuit.rotate(sum, static_cast<std::int64_t>(steps));
    sum = circuit.add(Operation::add, sum, turned);
  }
  circuit.finish();
  return circuit;
}

std::vector<ValueType> sum_slots_keys(const Parameters& parameters, int level, std::uint64_t count) {
  check_count(parameters, count);
  std::vector<ValueType> keys;
  for (std::uint64_t steps = 1; steps < count; steps *= 2) {
    keys.push_back(rotation_key_type(parameters, static_cast<std::int64_t>(steps), level));
  }
  return keys;
}

}  // namespace fheres::scheme
