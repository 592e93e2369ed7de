#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace fheres::workload {

struct ConstantMessage {
  double value = 0;
};
/// slot i: amplitude * sin(step * i + phase)
struct SineMessage {
  double amplitude = 1, step = 1, phase = 0;
};
/// From `from` in slot 0 to `to` in the last slot, in equal steps.
struct RampMessage {
  double from = 0, to = 1;
};
/// The first slots; zeros follow. With a period, slot i holds what slot i - period does.
struct ListMessage {
  std::vector<double> values;
  std::uint64_t period = 0;
};
/// Uniform in [low, high); the same numbers on every machine.
struct RandomMessage {
  std::uint64_t seed = 0;
  double low = 0, high = 1;
  std::uint64_t period = 0;  // slot i holds what slot i - period does; 0: every slot its own
};
using Message = std::variant<ConstantMessage, SineMessage, RampMessage, ListMessage, RandomMessage>;

/// The clear text: one real number a slot. A list longer than `slots` throws std::invalid_argument.
std::vector<double> slots_of(const Message& message, std::uint64_t slots);
/// A bound of every slot's magnitude.
double magnitude(const Message& message);
/// `sine(amplitude 0.01, step 0.017)`: for reports.
std::string describe(const Message& message);

}  // namespace fheres::workload
