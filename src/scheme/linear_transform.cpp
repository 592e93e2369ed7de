#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/scheme/linear_transform.hpp>

namespace fheres::scheme {
namespace {

[[noreturn]] void refuse_transform(const std::string& why) { throw StateError("linear_transform: " + why); }

std::vector<int> normalized(const Parameters& parameters, std::span<const std::int64_t> diagonals) {
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  if (diagonals.empty()) throw ParameterError("a linear transform has 0 diagonals, expected at least 1");
  std::vector<int> indices;
  for (const std::int64_t index : diagonals)
    indices.push_back(static_cast<int>((index % slots + slots) % slots));
  std::ranges::sort(indices);
  const auto twice = std::ranges::adjacent_find(indices);
  if (twice != indices.end())
    throw ParameterError(fmt::format("diagonal {} of {} stands twice", *twice, slots));
  return indices;
}

/// How many different steps other than 0 there are: of baby and of giant.
std::pair<int, int> steps_of(std::span<const int> indices, int baby_steps) {
  std::set<int> babies, giants;
  for (const int index : indices) {
    if (index % baby_steps != 0) babies.insert(index % baby_steps);
    if (index / baby_steps != 0) giants.insert(index / baby_steps);
  }
  return {static_cast<int>(babies.size()), static_cast<int>(giants.size())};
}

int choose_baby_steps(const Parameters& parameters, std::span<const int> indices) {
  int best = 1;
  int least = -1;
  for (int n1 = 1; static_cast<std::uint64_t>(n1) <= parameters.slots(); n1 *= 2) {
    const auto [babies, giants] = steps_of(indices, n1);
    const int cost = babies + 2 * giants;
    if (least >= 0 && cost >= least) continue;
    best = n1;
    least = cost;
  }
  return best;
}

}  // namespace

LinearTransform::LinearTransform(const Parameters& parameters, std::span<const std::int64_t> diagonals,
                                 int baby_steps)
    : parameters_(parameters) {
  const std::vector<int> indices = normalized(parameters, diagonals);
  if (baby_steps < 0 || static_cast<std::uint64_t>(baby_steps) > parameters.slots()) {
    throw ParameterError(fmt::format("a linear transform has {} baby steps, expected 1 to {}", baby_steps,
                                     parameters.slots()));
  }
  baby_steps_ = baby_steps == 0 ? choose_baby_steps(parameters, indices) : baby_steps;
  std::set<int> babies, giants;
  for (const int index : indices) {
    const int baby = index % baby_steps_;
    diagonals_.push_back({index, baby, index - baby});
    babies.insert(baby);
    giants.insert(index - baby);
  }
  babies_.assign(babies.begin(), babies.end());
  giants_.assign(giants.begin(), giants.end());
}

std::vector<int> LinearTransform::rotations() const {
  std::set<int> steps(babies_.begin(), babies_.end());
  steps.insert(giants_.begin(), giants_.end());
  steps.erase(0);
  return {steps.begin(), steps.end()};
}

std::vector<ValueType> LinearTransform::keys(int level) const {
  std::vector<ValueType> types;
  for (const int steps : rotations()) types.push_back(rotation_key_type(parameters_, steps, level));
  return types;
}

Signature LinearTransform::infer(const ValueType& operand, std::span<const ValueType> plaintexts,
                                 std::span<const ValueType> keys) const {
  // Kind, domain, level and components are what a rotation asks for; so are the keys.
  for (const int steps : rotations()) {
    const auto key = std::ranges::find_if(
        keys, [&](const ValueType& type) { return type.kind == Kind::rotation_key && type.steps == steps; });
    if (key == keys.end())
      refuse_transform(fmt::format("none of the {} keys is a rotation-key for {} steps", keys.size(), steps));
    scheme::infer(parameters_, Operation::rotate, {&operand, 1}, &*key);
  }
  if (plaintexts.size() != diagonals_.size())
    refuse_transform(fmt::format("it has {} plaintexts, expected {}", plaintexts.size(), diagonals_.size()));
  for (std::size_t i = 0; i < plaintexts.size(); ++i) {
    const ValueType& plaintext = plaintexts[i];
    if (i > 0 && plaintext == plaintexts[i - 1]) continue;  // hundreds, asked about before every use
    if (plaintext !=
        plaintext_type(parameters_, plaintext.level, plaintext.scale, PlaintextForm::prepared_qp))
      refuse_transform("a plaintext is not of the form prepared-qp");
    if (plaintext.scale != plaintexts[0].scale) {
      refuse_transform(fmt::format("plaintexts have scales {} and {}, expected equal ones",
                                   plaintexts[0].scale.text(), plaintext.scale.text()));
    }
    ValueType over_q = plaintext_type(parameters_, plaintext.level, plaintext.scale);
    const ValueType both[] = {operand, over_q};
    scheme::infer(parameters_, Operation::multiply_plain, both);
  }
  if (operand.components != 2)
    refuse_transform(fmt::format("operand 1 has {} components, expected 2", operand.components));
  const int l = parameters_.limbs(operand.level);
  const int u = l + parameters_.special_limbs();
  const int babies = static_cast<int>(babies_.size()) + (babies_.front() == 0 ? 0 : 1);
  const int limbs = std::max(parameters_.digits(operand.level) * u, 2 * l) + 2 * babies * u + 4 * u;
  Signature signature{operand, static_cast<Bytes>(limbs) * 8 * parameters_.n()};
  signature.result.scale = operand.scale.times(plaintexts[0].scale);
  return signature;
}

Estimate LinearTransform::estimate(const ValueType& operand, const Estimate& of_operand,
                                   const Scale& plaintext_scale, std::span<const double> magnitudes) const {
  FHERES_CHECK(magnitudes.size() == diagonals_.size());
  const double root_n = std::sqrt(static_cast<double>(parameters_.n()));
  const double key_switch =
      parameters_.key_switch_deviation(operand.level) * root_n / operand.scale.to_double();
  Estimate sum{0, 0};
  for (std::size_t i = 0; i < diagonals_.size(); ++i) {
    const Estimate plaintext = encoded_estimate(parameters_, plaintext_scale, magnitudes[i]);
    Estimate turned = of_operand;
    if (diagonals_[i].baby != 0) turned.deviation += key_switch;
    sum.magnitude += turned.magnitude * plaintext.magnitude;
    sum.deviation += turned.magnitude * plaintext.deviation + plaintext.magnitude * turned.deviation +
                     plaintext.bound() * turned.deviation;
  }
  // Giant steps, and the division at the end, err in the product's scale.
  const auto switches = static_cast<double>(giants_.size() + 1);
  sum.deviation += switches * key_switch / plaintext_scale.to_double();
  return sum;
}

}  // namespace fheres::scheme
