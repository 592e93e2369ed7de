#pragma once

#include <cstdint>
#include <optional>
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
/// The numbers of a file (workload/number_file.hpp) in the first slots; zeros follow. The file is read when the slots
/// are asked for; what is known of it before is its number of numbers and their largest magnitude.
struct FileMessage {
  std::string path;
  std::uint64_t count = 0;
  double magnitude = 0;
};
using Message =
    std::variant<ConstantMessage, SineMessage, RampMessage, ListMessage, RandomMessage, FileMessage>;

/// The clear text: one real number a slot. A list or file longer than `slots` throws std::invalid_argument, a file that
/// cannot be read, or is not as it was found before, FileError.
std::vector<double> slots_of(const Message& message, std::uint64_t slots);
/// The numbers that it gives itself, where it gives them one by one.
std::optional<std::uint64_t> count_of(const Message& message);
/// A bound of every slot's magnitude.
double magnitude(const Message& message);
/// `sine(amplitude 0.01, step 0.017)`: for reports.
std::string describe(const Message& message);

}  // namespace fheres::workload
