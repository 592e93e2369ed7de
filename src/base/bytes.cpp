#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <fheres/base/bytes.hpp>

namespace fheres {
namespace {

struct Unit {
  std::string_view name;
  Bytes bytes;
};

constexpr Bytes kThousand = 1000;
constexpr std::array kUnits{
    Unit{"B", 1},
    Unit{"kB", kThousand},
    Unit{"KB", kThousand},
    Unit{"MB", kThousand* kThousand},
    Unit{"GB", kThousand* kThousand* kThousand},
    Unit{"TB", kThousand* kThousand* kThousand* kThousand},
    Unit{"KiB", kKiB},
    Unit{"MiB", kMiB},
    Unit{"GiB", kGiB},
    Unit{"TiB", Bytes{1} << 40},
};
constexpr Bytes kLimit = Bytes{1} << 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Those that it may stand for: in other cases of letters, or by the first letter alone.
std::string near_units(std::string_view text) {
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
    });
  };
  std::string near;
  for (const Unit& unit : kUnits)
    if (unit.name != "KB" && (same(unit.name, text) || (text.size() == 1 && unit.name.size() > 1 &&
                                                        same(unit.name.substr(0, 1), text))))
      near += fmt::format("{}{}", near.empty() ? "" : " or ", unit.name);
  return near;
}

}  // namespace

Bytes checked_add(Bytes a, Bytes b) {
  if (a > std::numeric_limits<Bytes>::max() - b) throw std::overflow_error("sum of bytes exceeds 2^64");
  return a + b;
}

Bytes checked_multiply(Bytes a, Bytes b) {
  if (b != 0 && a > std::numeric_limits<Bytes>::max() / b) {
    throw std::overflow_error("product of bytes exceeds 2^64");
  }
  return a * b;
}

Bytes round_up_to_granule(Bytes bytes) { return checked_add(bytes, kGranule - 1) / kGranule * kGranule; }

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<Unit, 5> scale{Unit{"TiB", Bytes{1} << 40}, Unit{"GiB", kGiB},
                                             Unit{"MiB", kMiB}, Unit{"KiB", kKiB}, Unit{"B", 1}};
  for (const Unit& unit : scale) {
    if (bytes < unit.bytes && unit.bytes != 1) continue;
    if (bytes % unit.bytes == 0) return fmt::format("{} {}", bytes / unit.bytes, unit.name);
    std::string text = fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(unit.bytes));
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return fmt::format("{} {}", text, unit.name);
  }
  return "0 B";
}

std::string format_share(Bytes part, Bytes whole) {
  std::string first = format_bytes(part);
  const std::string second = format_bytes(whole);
  const std::string unit = second.substr(second.rfind(' '));
  if (first.ends_with(unit)) first.resize(first.size() - unit.size());
  return fmt::format("{} of {}", first, second);
}

std::string format_exact_bytes(Bytes bytes) {
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  return fmt::format("{} B ({})", bytes, format_bytes(bytes));
}

std::variant<Bytes, BadBytes> parse_bytes(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return BadBytes{fmt::format("`{}` is not a size: {}", text, why)};
  };
  if (text.empty()) return bad("it is empty");
  if (text.front() == '-') return bad("a size cannot be negative");
  std::size_t at = 0;
  unsigned __int128 mantissa = 0;
  unsigned __int128 divisor = 1;
  bool fraction = false;
  std::size_t digits = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    if (++digits > 20) return bad("it has more than 20 digits");
    mantissa = mantissa * 10 + static_cast<unsigned>(text[at] - '0');
    if (fraction) divisor *= 10;
  }
  if (digits == 0) return bad("expected a number such as `64 MiB`");
  if (fraction && (text[at - 1] == '.' || text.front() == '.'))
    return bad("a digit is missing beside the point");
  std::string_view unit_text = text.substr(at);
  if (!unit_text.empty() && unit_text.front() == ' ') unit_text.remove_prefix(1);
  if (unit_text.empty()) {
    if (fraction) return bad("a fraction needs a unit such as `MiB`");
    unit_text = "B";
  }
  for (const Unit& unit : kUnits) {
    if (unit.name != unit_text) continue;
    // 20 digits times 2^40 stays below 2^107.
    const unsigned __int128 scaled = mantissa * unit.bytes;
    if (scaled % divisor != 0) return bad("it is not a whole number of bytes");
    if (scaled / divisor >= kLimit) return bad("it is 2^63 bytes or more");
    return static_cast<Bytes>(scaled / divisor);
  }
  if (const std::string near = near_units(unit_text); !near.empty())
    return bad(fmt::format("`{}` is not a unit; did you mean {}?", unit_text, near));
  return bad(fmt::format("`{}` is not a unit; expected B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", unit_text));
}

}  // namespace fheres
