#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/workload/message.hpp>
#include <fheres/workload/number_file.hpp>

namespace fheres::workload {
namespace {

/// SplitMix64 (Steele, Lea and Flood, 2014): one step. The i-th number of a seed needs no state.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

double unit_interval(std::uint64_t seed, std::uint64_t i) {
  return std::ldexp(static_cast<double>(mixed(mixed(seed) + i) >> 11), -53);
}

double slot(const ConstantMessage& m, std::uint64_t, std::uint64_t) { return m.value; }
double slot(const SineMessage& m, std::uint64_t i, std::uint64_t) {
  return m.amplitude * std::sin(m.step * static_cast<double>(i) + m.phase);
}
double slot(const RampMessage& m, std::uint64_t i, std::uint64_t slots) {
  if (slots < 2) return m.from;
  return m.from + (m.to - m.from) * (static_cast<double>(i) / static_cast<double>(slots - 1));
}
double slot(const ListMessage& m, std::uint64_t i, std::uint64_t) {
  const std::uint64_t own = m.period == 0 ? i : i % m.period;
  return own < m.values.size() ? m.values[own] : 0.0;
}
double slot(const RandomMessage& m, std::uint64_t i, std::uint64_t) {
  return m.low + (m.high - m.low) * unit_interval(m.seed, m.period == 0 ? i : i % m.period);
}

/// Of what was read before; a file is read where its slots are made.
double slot(const FileMessage&, std::uint64_t, std::uint64_t) { return 0; }

struct Magnitude {
  double operator()(const ConstantMessage& m) const { return std::abs(m.value); }
  double operator()(const SineMessage& m) const { return std::abs(m.amplitude); }
  double operator()(const RampMessage& m) const { return std::max(std::abs(m.from), std::abs(m.to)); }
  double operator()(const ListMessage& m) const {
    double largest = 0;
    for (const double value : m.values) largest = std::max(largest, std::abs(value));
    return largest;
  }
  double operator()(const RandomMessage& m) const { return std::max(std::abs(m.low), std::abs(m.high)); }
  double operator()(const FileMessage& m) const { return m.magnitude; }
};

struct Describe {
  std::string operator()(const ConstantMessage& m) const { return fmt::format("constant({})", m.value); }
  std::string operator()(const SineMessage& m) const {
    return fmt::format("sine(amplitude {}, step {}, phase {})", m.amplitude, m.step, m.phase);
  }
  std::string operator()(const RampMessage& m) const {
    return fmt::format("ramp(from {}, to {})", m.from, m.to);
  }
  std::string operator()(const ListMessage& m) const {
    return m.period == 0 ? fmt::format("list({} numbers)", m.values.size())
                         : fmt::format("list({} numbers, period {})", m.values.size(), m.period);
  }
  std::string operator()(const RandomMessage& m) const {
    const std::string text = fmt::format("random(seed {}, low {}, high {}", m.seed, m.low, m.high);
    return m.period == 0 ? text + ")" : text + fmt::format(", period {})", m.period);
  }
  std::string operator()(const FileMessage& m) const {
    return fmt::format("file({}, {} numbers)", m.path, m.count);
  }
};

std::vector<double> slots_of_file(const FileMessage& file, std::uint64_t slots) {
  std::vector<double> result = read_numbers(file.path, slots);
  double largest = 0;
  for (const double number : result) largest = std::max(largest, std::abs(number));
  if (result.size() != file.count || largest != file.magnitude) {
    throw FileError(
        fmt::format("{}: it has {} numbers up to {:g}, and had {} up to {:g} when the document was read",
                    file.path, result.size(), largest, file.count, file.magnitude));
  }
  result.resize(slots);
  return result;
}

}  // namespace

std::optional<std::uint64_t> count_of(const Message& message) {
  if (const auto* list = std::get_if<ListMessage>(&message)) return list->values.size();
  if (const auto* file = std::get_if<FileMessage>(&message)) return file->count;
  return std::nullopt;
}

std::vector<double> slots_of(const Message& message, std::uint64_t slots) {
  if (const auto count = count_of(message); count && *count > slots) {
    throw std::invalid_argument(
        fmt::format("the list has {} numbers, and there are {} slots", *count, slots));
  }
  if (const auto* file = std::get_if<FileMessage>(&message)) return slots_of_file(*file, slots);
  std::vector<double> result(slots);
  std::visit(
      [&](const auto& m) {
        for (std::uint64_t i = 0; i < slots; ++i) result[i] = slot(m, i, slots);
      },
      message);
  return result;
}

double magnitude(const Message& message) { return std::visit(Magnitude{}, message); }
std::string describe(const Message& message) { return std::visit(Describe{}, message); }

}  // namespace fheres::workload
