#include <fmt/format.h>

#include <fheres/scheme/advice.hpp>
#include <fheres/scheme/presets.hpp>

namespace fheres::scheme {
namespace {

/// The base prime and the special ones have `wide_bits`.
ParametersLiteral chain(int log_n, int scale_bits, int levels, int special_primes, int wide_bits) {
  ParametersLiteral literal;
  literal.log_n = log_n;
  literal.scale_bits = scale_bits;
  literal.q.push_back({wide_bits, {}});
  literal.q.insert(literal.q.end(), static_cast<std::size_t>(levels), PrimeSpec{scale_bits, {}});
  literal.p.assign(static_cast<std::size_t>(special_primes), PrimeSpec{wide_bits, {}});
  return literal;
}

struct Size {
  int log_n, scale_bits, levels, special_primes;
};

// Too small to be secure, and so quick to test with. The last one has digits of several limbs.
constexpr Size kTest[] = {{10, 30, 2, 1}, {10, 40, 4, 1}, {11, 40, 3, 1}, {12, 40, 5, 2}};
constexpr Size kSecure[] = {
    {14, 30, 9, 1},  {14, 40, 7, 1},  {14, 50, 5, 1},  {15, 30, 21, 2}, {15, 40, 16, 2}, {15, 50, 12, 2},
    {16, 30, 45, 4}, {16, 40, 34, 4}, {16, 50, 27, 4}, {17, 30, 95, 6}, {17, 40, 72, 6}, {17, 50, 58, 6},
};

// The same depths almost wholly out of primes for a device's double-precision pipe. A scale of 2^50 has none.
constexpr Size kFast[] = {
    {14, 30, 9, 2},  {14, 40, 7, 2},  {15, 30, 21, 3}, {15, 40, 16, 3},
    {16, 30, 45, 5}, {16, 40, 34, 5}, {17, 30, 95, 8}, {17, 40, 72, 8},
};
enum class Family { test, secure, fast };

Preset make(const Size& row, Family family) {
  const bool test = family == Family::test;
  const bool fast = family == Family::fast;
  Preset preset;
  preset.literal =
      chain(row.log_n, row.scale_bits, row.levels, row.special_primes, fast ? kFastPrimeBits : 60);
  preset.name = fmt::format("{}slots{}-scale{}-levels{}{}", test ? "test-" : "", 1 << (row.log_n - 1),
                            row.scale_bits, row.levels, fast ? "-fast" : "");
  preset.literal.name = preset.name;
  if (test) preset.literal.security = SecurityTable::none;
  return preset;
}

std::vector<Preset> make_all() {
  std::vector<Preset> all;
  for (const Size& row : kTest) all.push_back(make(row, Family::test));
  for (const Size& row : kSecure) all.push_back(make(row, Family::secure));
  for (const Size& row : kFast) all.push_back(make(row, Family::fast));
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
