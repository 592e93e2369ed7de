#include <charconv>

#include <fmt/format.h>

#include <fheres/scheme/presets.hpp>
#include <fheres/workload/check.hpp>

#include "sections.hpp"

namespace fheres::documents {
namespace {

constexpr int kMaxPrimes = 256;
// A number up to this is a size in bits, a larger one is a prime.
constexpr std::uint64_t kMaxBits = 64;

template <class Number>
bool whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// `60`, `40x7`, or a prime.
void read_primes_item(Context& context, const Node& node, const char* what,
                      std::vector<scheme::PrimeSpec>& primes) {
  const auto text = read_text(context, node, what);
  if (!text) return;
  const auto cross = text->find('x');
  const std::string_view first = std::string_view(*text).substr(0, cross);
  std::uint64_t number = 0;
  int count = 1;
  bool good = whole(first, number) && number > 0;
  if (good && cross != text->npos) {
    good = number <= kMaxBits && whole(std::string_view(*text).substr(cross + 1), count) && count > 0;
  }
  if (!good || count > kMaxPrimes) {
    context.report(
        "FHR0106", node.place,
        fmt::format("a prime of {} is `{}`, expected a size in bits such as `60`, several as `40x7` (at "
                    "most {}), or a prime",
                    what, *text, kMaxPrimes));
    return;
  }
  scheme::PrimeSpec spec;
  if (number <= kMaxBits) {
    spec.bits = static_cast<int>(number);
  } else {
    spec.value = number;
  }
  primes.insert(primes.end(), static_cast<std::size_t>(count), spec);
}

void read_primes(Context& context, const Node* node, const char* what,
                 std::vector<scheme::PrimeSpec>& primes) {
  if (!node) return;
  for (const auto& item : read_list(context, *node, what)) {
    read_primes_item(context, *item, what, primes);
    if (primes.size() > kMaxPrimes) {
      context.report("FHR0107", item->place, fmt::format("{} has more than {} primes", what, kMaxPrimes));
      primes.clear();
      return;
    }
  }
}

bool read_preset(Context& context, const Node& node, scheme::ParametersLiteral& literal) {
  const auto text = read_text(context, node, "preset");
  if (!text) return false;
  if (const auto found = scheme::find_preset(*text)) {
    literal = *found;
    return true;
  }
  std::vector<std::string> names;
  for (const scheme::Preset& preset : scheme::presets()) names.push_back(preset.name);
  const std::string near = workload::closest(*text, names);
  context.report("FHR0201", node.place, fmt::format("there is no preset `{}`", *text),
                 near.empty() ? "`fheres params` lists them" : fmt::format("did you mean `{}`?", near));
  return false;
}

bool read_own(Context& context, MapReader& map, scheme::ParametersLiteral& literal) {
  const Node* log_n = map.need("log_n");
  const Node* q = map.need("q");
  const Node* p = map.need("p");
  const Node* scale = map.need("scale_bits");
  const auto before = context.diagnostics.size();
  if (log_n) literal.log_n = static_cast<int>(read_integer(context, *log_n, "log_n", 10, 17).value_or(0));
  if (scale)
    literal.scale_bits = static_cast<int>(read_integer(context, *scale, "scale_bits", 1, 60).value_or(0));
  read_primes(context, q, "q", literal.q);
  read_primes(context, p, "p", literal.p);
  return log_n && q && p && scale && context.diagnostics.size() == before;
}

}  // namespace

std::optional<workload::ParametersDraft> read_parameters(Context& context, const Node::Entry& entry) {
  MapReader map(context, *entry.value, "parameters");
  if (!map.valid()) return std::nullopt;
  workload::ParametersDraft draft;
  draft.place = entry.place;
  bool good = true;
  if (const Node::Entry* preset = map.entry("preset")) {
    draft.place = preset->value->place;
    good = read_preset(context, *preset->value, draft.literal);
    for (const char* other : {"log_n", "q", "p", "scale_bits"}) {
      const Node::Entry* beside = map.entry(other);
      if (!beside) continue;
      context.report("FHR0113", beside->place,
                     fmt::format("`{}` stands beside `preset`, which settles it", other));
      good = false;
    }
  } else {
    good = read_own(context, map, draft.literal);
  }
  if (const Node* digits = map.get("digit_limbs")) {
    const auto limbs = read_integer(context, *digits, "digit_limbs", 1, kMaxPrimes);
    if (limbs) draft.literal.digit_limbs = static_cast<int>(*limbs);
    good = good && limbs;
  }
  if (const Node* security = map.get("security")) {
    const auto table =
        read_choice(context, *security, "security", {"guidelines-2024", "he-standard-2018", "none"});
    if (table) draft.literal.security = static_cast<scheme::SecurityTable>(*table);
    good = good && table;
  }
  if (const Node* management = map.get("scale_management")) {
    const auto chosen = read_choice(context, *management, "scale_management", {"auto", "manual"});
    if (chosen) draft.literal.scale_management = static_cast<scheme::ScaleManagement>(*chosen);
    good = good && chosen;
  }
  map.finish();
  if (!good) return std::nullopt;
  return draft;
}

}  // namespace fheres::documents
