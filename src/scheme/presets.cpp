#include <fmt/format.h>

#include <fheres/scheme/presets.hpp>

namespace fheres::scheme {
namespace {

ParametersLiteral chain(int log_n, int scale_bits, int levels, int special_primes) {
  ParametersLiteral literal;
  literal.log_n = log_n;
  literal.scale_bits = scale_bits;
  literal.q.push_back({60, {}});
  literal.q.insert(literal.q.end(), static_cast<std::size_t>(levels), PrimeSpec{scale_bits, {}});
  literal.p.assign(static_cast<std::size_t>(special_primes), PrimeSpec{60, {}});
  return literal;
}

struct Row {
  int log_n, scale_bits, levels, special_primes;
};

// Too small to be secure, and so quick to test with. The last one has digits of several limbs.
constexpr Row kTest[] = {{10, 30, 2, 1}, {10, 40, 4, 1}, {11, 40, 3, 1}, {12, 40, 5, 2}};
constexpr Row kSecure[] = {
    {14, 30, 9, 1},  {14, 40, 7, 1},  {14, 50, 5, 1},  {15, 30, 21, 2}, {15, 40, 16, 2}, {15, 50, 12, 2},
    {16, 30, 45, 4}, {16, 40, 34, 4}, {16, 50, 27, 4}, {17, 30, 95, 6}, {17, 40, 72, 6}, {17, 50, 58, 6},
};

Preset make(const Row& row, bool test) {
  Preset preset;
  preset.literal = chain(row.log_n, row.scale_bits, row.levels, row.special_primes);
  preset.name = fmt::format("{}slots{}-scale{}-levels{}", test ? "test-" : "", 1 << (row.log_n - 1),
                            row.scale_bits, row.levels);
  preset.literal.name = preset.name;
  if (test) preset.literal.security = SecurityTable::none;
  return preset;
}

std::vector<Preset> make_all() {
  std::vector<Preset> all;
  for (const Row& row : kTest) all.push_back(make(row, true));
  for (const Row& row : kSecure) all.push_back(make(row, false));
  return all;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = make_all();
  return all;
}

std::optional<ParametersLiteral> find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset.literal;
  }
  return std::nullopt;
}

}  // namespace fheres::scheme
