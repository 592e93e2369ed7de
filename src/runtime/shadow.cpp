#include <algorithm>
#include <cmath>
#include <functional>

#include <fheres/base/check.hpp>
#include <fheres/runtime/shadow.hpp>

namespace fheres::runtime {
namespace {

using Slots = std::vector<double>;
using scheme::Operation;

template <class Function>
Slots zip(const Slots& a, const Slots& b, const Function& function) {
  if (a.empty() || b.empty()) return {};  // not known
  FHERES_CHECK(a.size() == b.size());
  Slots out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = function(a[i], b[i]);
  return out;
}

template <class Function>
Slots map(const Slots& in, const Function& function) {
  Slots out(in.size());
  std::transform(in.begin(), in.end(), out.begin(), function);
  return out;
}

/// steps in [0, slots).
Slots rotate(const Slots& in, std::size_t steps) {
  Slots out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[(i + steps) % in.size()] = in[i];
  return out;
}

Slots apply(const workload::SumSlots& sum, const Slots& in) {
  Slots out(in.size());
  for (std::size_t steps = 0; steps < sum.count; ++steps) {
    for (std::size_t i = 0; i < in.size(); ++i) out[(i + steps) % in.size()] += in[i];
  }
  return out;
}

/// Slot i: the sum of diagonal_r[i] in[i - r].
Slots transform(const scheme::LinearTransform& transform, const Slots& in,
                const std::vector<const Slots*>& diagonals) {
  if (in.empty()) return {};
  Slots out(in.size());
  for (std::size_t d = 0; d < diagonals.size(); ++d) {
    const Slots& diagonal = *diagonals[d];
    if (diagonal.empty()) return {};
    const auto steps = static_cast<std::size_t>(transform.diagonals()[d].index);
    for (std::size_t i = 0; i < steps; ++i) out[i] += diagonal[i] * in[i + in.size() - steps];
    for (std::size_t i = steps; i < in.size(); ++i) out[i] += diagonal[i] * in[i - steps];
  }
  return out;
}

Slots apply(const workload::LinearTransform&, const Slots&) { FHERES_CHECK(false); }

Slots apply(const workload::Polynomial& polynomial, const Slots& in) {
  const std::vector<double>& c = polynomial.coefficients;
  return map(in, [&](double x) {
    if (polynomial.basis == scheme::PolynomialBasis::power) {
      double value = 0;
      for (std::size_t i = c.size(); i-- > 0;) value = value * x + c[i];
      return value;
    }
    // Clenshaw: b_i = c_i + 2 x b_(i + 1) - b_(i + 2).
    double next = 0, after = 0;
    for (std::size_t i = c.size(); i-- > 1;) {
      const double now = c[i] + 2 * x * next - after;
      after = next;
      next = now;
    }
    return (c.empty() ? 0 : c[0]) + x * next - after;
  });
}

}  // namespace

Shadow::Shadow(const workload::Workload& workload)
    : workload_(workload), values_(workload.world.values.size()) {
  if (!workload.world.parameters) return;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const workload::Value& value = workload.world.values[i];
    if (value.message) values_[i] = workload::slots_of(*value.message, workload.world.parameters->slots());
  }
}

void Shadow::run(const workload::Stage& stage) {
  std::vector<Slots> results;
  for (const workload::BodyOperation& step : stage.body) {
    const auto operand = [&](std::size_t i) -> const Slots& {
      const workload::Operand& from = step.operands[i];
      return from.from == workload::Operand::From::value ? values_[from.index] : results[from.index];
    };
    if (step.transform) {
      std::vector<const Slots*> diagonals;
      for (std::size_t i = 1; i < step.operands.size(); ++i) diagonals.push_back(&operand(i));
      results.push_back(transform(*step.transform, operand(0), diagonals));
      continue;
    }
    if (step.composite) {
      results.push_back(
          std::visit([&](const auto& composite) { return apply(composite, operand(0)); }, *step.composite));
      continue;
    }
    switch (step.operation) {
      case Operation::add:
      case Operation::add_plain:
        results.push_back(zip(operand(0), operand(1), std::plus<>()));
        break;
      case Operation::sub:
      case Operation::sub_plain:
        results.push_back(zip(operand(0), operand(1), std::minus<>()));
        break;
      case Operation::plain_sub:
        results.push_back(zip(operand(1), operand(0), std::minus<>()));
        break;
      case Operation::multiply:
      case Operation::multiply_plain:
      case Operation::multiply_rescale:
        results.push_back(zip(operand(0), operand(1), std::multiplies<>()));
        break;
      case Operation::square:
      case Operation::square_rescale:
        results.push_back(zip(operand(0), operand(0), std::multiplies<>()));
        break;
      case Operation::negate:
        results.push_back(map(operand(0), std::negate<>()));
        break;
      case Operation::add_scalar:
        results.push_back(map(operand(0), [c = step.scalar->value](double a) { return a + c; }));
        break;
      case Operation::sub_scalar:
        results.push_back(map(operand(0), [c = step.scalar->value](double a) { return a - c; }));
        break;
      case Operation::scalar_sub:
        results.push_back(map(operand(0), [c = step.scalar->value](double a) { return c - a; }));
        break;
      case Operation::multiply_scalar:
        results.push_back(map(operand(0), [c = step.scalar->value](double a) { return a * c; }));
        break;
      case Operation::rotate: {
        const auto& key = workload_.world.values[step.key->index];
        results.push_back(rotate(operand(0), static_cast<std::size_t>(key.type->steps)));
        break;
      }
      case Operation::conjugate:  // real slots are their own conjugates
      case Operation::relinearize:
      case Operation::rescale:
      case Operation::mod_switch:
        results.push_back(operand(0));
        break;
    }
  }
  for (const workload::Output& output : stage.outputs) values_[output.value] = results[output.result];
}

double largest_error(std::span<const double> actual, std::span<const double> expected) {
  FHERES_CHECK(actual.size() >= expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

std::vector<double> expected_slots(const workload::Expectation& expectation, std::uint64_t slots) {
  std::vector<double> result = workload::slots_of(expectation.message, slots);
  if (expectation.slots) result.resize(*expectation.slots);
  return result;
}

}  // namespace fheres::runtime
