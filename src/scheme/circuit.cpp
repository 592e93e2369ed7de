#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/lifetime.hpp>
#include <fheres/scheme/circuit.hpp>

namespace fheres::scheme {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Kind key_kind(Operation operation) {
  if (operation == Operation::rotate) return Kind::rotation_key;
  return operation == Operation::conjugate ? Kind::conjugation_key : Kind::relinearization_key;
}

}  // namespace

Circuit::Circuit(const Parameters& parameters, const ValueType& input, std::span<const ValueType> keys,
                 int group)
    : parameters_(parameters), input_(input), keys_(keys.begin(), keys.end()), group_(group) {}

const ValueType& Circuit::type(int operand) const {
  return operand == kInput ? input_ : steps_[at(operand)].signature.result;
}

int Circuit::add(Operation operation, int a, int b, const Scalar* scalar) {
  FHERES_CHECK(operation != Operation::rotate);
  const int key = key_use(operation) == KeyUse::none ? kNone : find_key(operation, key_kind(operation), 0);
  return append(operation, a, b, key, scalar);
}

int Circuit::rotate(int a, std::int64_t steps) {
  const int turn = rotation_key_type(parameters_, steps).steps;
  return append(Operation::rotate, a, kNone, find_key(Operation::rotate, Kind::rotation_key, turn), nullptr);
}

int Circuit::find_key(Operation operation, Kind kind, int steps) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].kind == kind && keys_[i].steps == steps) return static_cast<int>(i);
  }
  throw StateError(fmt::format("{}: none of the {} keys is a {}{}", name(operation), keys_.size(), name(kind),
                               kind == Kind::rotation_key ? fmt::format(" for {} steps", steps) : ""));
}

int Circuit::append(Operation operation, int a, int b, int key, const Scalar* scalar) {
  Step step;
  step.operation = operation;
  step.operands[0] = a;
  step.operands[1] = b;
  step.key = key;
  if (scalar) step.scalar = *scalar;
  const std::array types{type(a), b == kNone ? input_ : type(b)};
  step.signature = infer(parameters_, operation, std::span(types).first(b == kNone ? 1 : 2),
                         key == kNone ? nullptr : &keys_[at(key)], group_, scalar);
  steps_.push_back(std::move(step));
  return static_cast<int>(steps_.size()) - 1;
}

void Circuit::finish() {
  FHERES_CHECK(!steps_.empty());
  std::vector<std::size_t> last(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    last[i] = i;
    for (const int operand : steps_[i].operands) {
      if (operand >= 0) last[at(operand)] = i;
    }
  }
  // Steps that share storage, by the number of their first one.
  std::vector<std::size_t> home(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    home[i] = i;
    if (!works_in_place(step.operation)) continue;
    // The result of add stands in either operand's place; so does that of sub, in the first one's.
    if (step.operation == Operation::add && (step.operands[0] < 0 || last[at(step.operands[0])] != i))
      std::swap(step.operands[0], step.operands[1]);
    const int first = step.operands[0];
    if (first < 0 || last[at(first)] != i) continue;
    if (bytes_of(parameters_, type(first)) == bytes_of(parameters_, step.signature.result))
      home[i] = home[at(first)];
  }
  std::vector<Lifetime> lives;
  std::vector<std::size_t> life_of(steps_.size());
  std::vector<std::size_t> scratch_of(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (home[i] == i) {
      life_of[i] = lives.size();
      lives.push_back({bytes_of(parameters_, steps_[i].signature.result), i, last[i]});
    } else {
      life_of[i] = life_of[home[i]];
      lives[life_of[i]].last = std::max(lives[life_of[i]].last, last[i]);
    }
  }
  // What ends as the result stands there all along, if it may: no other step's life is in its way.
  const std::size_t result = life_of.back();
  lives[result].bytes = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    scratch_of[i] = lives.size();
    lives.push_back({round_up_to_granule(steps_[i].signature.workspace), i, i});
  }
  workspace_ = place_lifetimes(lives);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].scratch_at = lives[scratch_of[i]].offset;
    if (life_of[i] != result) steps_[i].result_at = lives[life_of[i]].offset;
  }
}

Estimate Circuit::estimate(const Estimate& input) const {
  std::vector<Estimate> results;
  for (const Step& step : steps_) {
    std::vector<Estimate> operands;
    std::vector<ValueType> types;
    for (const int operand : step.operands) {
      if (operand == kNone) continue;
      operands.push_back(operand == kInput ? input : results[at(operand)]);
      types.push_back(type(operand));
    }
    results.push_back(scheme::estimate(parameters_, step.operation, types, operands,
                                       step.key == kNone ? nullptr : &keys_[at(step.key)],
                                       step.scalar ? &*step.scalar : nullptr));
    if (step.magnitude) results.back().magnitude = std::min(results.back().magnitude, *step.magnitude);
  }
  return results.back();
}

}  // namespace fheres::scheme
