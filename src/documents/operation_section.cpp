#include "operation_section.hpp"

#include <charconv>

#include <fmt/format.h>

namespace fheres::documents {
namespace {

using workload::OperationDraft;

constexpr std::int64_t kMostSteps = 1 << 17;

/// `multiply_scalar: [x, 0.5]`.
void read_with_scalar(Context& context, const Node::Entry& operation, OperationDraft& draft) {
  const Node& value = *operation.value;
  if (value.kind != Node::Kind::sequence || value.items.size() != 2) {
    context.report("FHR0106", value.place,
                   fmt::format("`{0}` is {1}, expected an operand and a number such as {{{0}: [x, 0.5]}}",
                               operation.key, kind_of(value)));
    draft.beside_is_bad = true;
    return;
  }
  if (auto name = read_name(context, *value.items[0], "an operand's name"))
    draft.operands.push_back(std::move(*name));
  draft.scalar = read_real(context, *value.items[1], "a scalar");
  if (!draft.scalar) draft.beside_is_bad = true;
}

/// `3`, or `0..7`: the first and the last index.
std::optional<std::pair<std::int64_t, std::int64_t>> read_range(Context& context, const Node::Entry& entry) {
  const auto read = [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  };
  const std::string_view text = entry.key;
  const std::size_t dots = text.find("..");
  const auto first = read(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : read(text.substr(dots + 2));
  if (!first || !last) {
    context.report(
        "FHR0106", entry.place,
        fmt::format("a diagonal is `{}`, expected its index, or a range such as 0..7", clipped(text)));
    return std::nullopt;
  }
  if (*first > *last || *first < -kMostSteps || *last > kMostSteps) {
    context.report("FHR0107", entry.place,
                   fmt::format("diagonals are {} to {}, expected {} to {} in ascending order", *first, *last,
                               -kMostSteps, kMostSteps));
    return std::nullopt;
  }
  return std::pair{*first, *last};
}

/// Charges what a range stands for, since a short text can name very many values.
bool take_items(Context& context, std::int64_t count, const Place& place) {
  context.range_items += static_cast<std::uint64_t>(count);
  if (context.range_items <= kMostRangeItems) return true;
  context.report("FHR0002", place,
                 fmt::format("ranges of diagonals stand for more than {} values", kMostRangeItems));
  return false;
}

/// `{0: d0, 1..7: d*}`: in a range the star stands for the index.
void read_diagonals(Context& context, const Node& node, OperationDraft& draft) {
  if (node.kind != Node::Kind::map) {
    context.report("FHR0106", node.place,
                   fmt::format("diagonals is {}, expected a map such as {{0: d0, 1..7: d*}}", kind_of(node)));
    draft.beside_is_bad = true;
    return;
  }
  for (const Node::Entry& entry : node.entries) {
    const auto range = read_range(context, entry);
    if (!range || !take_items(context, range->second - range->first + 1, entry.value->place)) {
      draft.beside_is_bad = true;
      continue;
    }
    const auto pattern = read_text(context, *entry.value, "a diagonal's name");
    const std::size_t star = pattern ? pattern->find('*') : std::string::npos;
    if (!pattern || (star == std::string::npos && range->first != range->second)) {
      if (pattern)
        context.report("FHR0108", entry.value->place,
                       fmt::format("`{}` names one value for {} diagonals, expected a star that stands for "
                                   "the index, such as d*",
                                   clipped(*pattern), range->second - range->first + 1));
      draft.beside_is_bad = true;
      continue;
    }
    for (std::int64_t index = range->first; index <= range->second; ++index) {
      std::string name = *pattern;
      if (star != std::string::npos) name.replace(star, 1, std::to_string(index));
      if (!check_name(context, name, entry.value->place, "a diagonal's name")) {
        draft.beside_is_bad = true;
        break;
      }
      draft.diagonals.push_back({index, {std::move(name), entry.value->place}});
    }
  }
}

/// What may stand beside an operation, and beside which.
constexpr std::pair<const char*, const char*> kBeside[] = {{"count", "sum_slots"},
                                                           {"coefficients", "polynomial"},
                                                           {"basis", "polynomial"},
                                                           {"diagonals", "linear_transform"},
                                                           {"baby_steps", "linear_transform"}};

const char* beside_which(const std::string& key) {
  for (const auto& [known, operation] : kBeside) {
    if (key == known) return operation;
  }
  return nullptr;
}

void read_beside(Context& context, const Node::Entry& entry, const std::string& operation,
                 OperationDraft& draft) {
  if (operation != beside_which(entry.key)) {
    context.report("FHR0103", entry.place, fmt::format("`{}` takes no {}", operation, entry.key));
  } else if (entry.key == "count") {
    draft.count = read_integer(context, *entry.value, "count", 2, 1 << 16);
    draft.beside_is_bad = draft.beside_is_bad || !draft.count;
  } else if (entry.key == "basis") {
    const auto basis = read_choice(context, *entry.value, "basis", {"power", "chebyshev"});
    if (basis) draft.basis = static_cast<scheme::PolynomialBasis>(*basis);
    draft.beside_is_bad = draft.beside_is_bad || !basis;
  } else if (entry.key == "diagonals") {
    read_diagonals(context, *entry.value, draft);
  } else if (entry.key == "baby_steps") {
    const auto steps = read_integer(context, *entry.value, "baby_steps", 1, 1 << 16);
    if (steps) draft.baby_steps = static_cast<int>(*steps);
    draft.beside_is_bad = draft.beside_is_bad || !steps;
  } else {
    draft.coefficients.emplace();
    draft.beside_is_bad = draft.beside_is_bad || entry.value->kind != Node::Kind::sequence;
    for (const auto& item : read_list(context, *entry.value, "coefficients")) {
      const auto value = read_real(context, *item, "a coefficient");
      draft.beside_is_bad = draft.beside_is_bad || !value;
      draft.coefficients->push_back(value.value_or(0));
    }
  }
}

void read_steps(Context& context, const Node& node, OperationDraft& draft) {
  draft.steps_place = node.place;
  draft.steps = read_integer(context, node, "steps", -kMostSteps, kMostSteps);
}

/// `{rotate_many: x, results: {x1: rot1, x2: {steps: 2}}}`: each result with its key, or the steps of one.
void read_rotate_many(Context& context, const Node& node, std::vector<OperationDraft>& body) {
  MapReader map(context, node, "`rotate_many`");
  const Node::Entry& operation = *map.entry("rotate_many");
  const std::vector<Name> operands = read_names(context, *operation.value, "an operand's name");
  const Node* results = map.need("results");
  map.finish();
  if (!results) return;
  if (results->kind != Node::Kind::map || results->entries.empty()) {
    context.report("FHR0106", results->place,
                   fmt::format("results is {}, expected a map such as {{x1: rot1, x2: {{steps: 2}}}}",
                               results->kind == Node::Kind::map ? "empty" : kind_of(*results)));
    return;
  }
  std::size_t turn = 0;
  for (const Node::Entry& entry : results->entries) {
    if (!check_name(context, entry.key, entry.place, "a result's name")) continue;
    OperationDraft draft;
    draft.result = {entry.key, entry.place};
    draft.operation = {operation.key, operation.place};
    draft.operands = operands;
    if (entry.value->kind == Node::Kind::map) {
      MapReader turned(context, *entry.value, "a result");
      if (const Node* key = turned.get("key")) draft.key = read_name(context, *key, "a key's name");
      if (const Node* steps = turned.get("steps")) read_steps(context, *steps, draft);
      turned.finish();
    } else {
      draft.key = read_name(context, *entry.value, "a key's name");
      draft.beside_is_bad = !draft.key;
    }
    draft.turn = turn++;
    body.push_back(std::move(draft));
  }
}

}  // namespace

void read_operation(Context& context, const Node& node, std::vector<OperationDraft>& body) {
  if (node.kind == Node::Kind::map) {
    // A result may be called rotate_many too: then its operation stands behind it.
    for (const Node::Entry& entry : node.entries) {
      if (entry.key == "rotate_many" && (node.entries.size() > 1 || entry.value->kind != Node::Kind::map))
        return read_rotate_many(context, node, body);
    }
  }
  const Node::Entry* result = read_single(context, node, "result");
  if (!result || !check_name(context, result->key, result->place, "a result's name")) return;
  OperationDraft draft;
  draft.result = {result->key, result->place};
  const Node& value = *result->value;
  if (value.kind != Node::Kind::map) {
    context.report("FHR0106", value.place,
                   fmt::format("an operation is {}, expected a map such as {{add: [x, y]}}", kind_of(value)));
    return;
  }
  const Node::Entry* operation = nullptr;
  std::vector<const Node::Entry*> beside;
  for (const Node::Entry& entry : value.entries) {
    if (entry.key == "key") {
      draft.key = read_name(context, *entry.value, "a key's name");
    } else if (entry.key == "steps") {
      read_steps(context, *entry.value, draft);
    } else if (beside_which(entry.key) != nullptr) {
      beside.push_back(&entry);
    } else if (operation) {
      context.report(
          "FHR0113", entry.place,
          fmt::format("`{}` stands beside `{}`, expected one operation and, where it takes one, `key`",
                      entry.key, operation->key));
    } else {
      operation = &entry;
    }
  }
  if (!operation) {
    context.report("FHR0105", value.place, fmt::format("`{}` has no operation", result->key));
    return;
  }
  draft.operation = {clipped(operation->key), operation->place};
  const auto known = scheme::operation_named(operation->key);
  if (known && scheme::takes_scalar(*known)) {
    read_with_scalar(context, *operation, draft);
  } else {
    draft.operands = read_names(context, *operation->value, "an operand's name");
  }
  if (draft.steps && operation->key != "rotate") {
    context.report("FHR0103", draft.steps_place, fmt::format("`{}` takes no steps", operation->key));
  }
  for (const Node::Entry* entry : beside) read_beside(context, *entry, operation->key, draft);
  body.push_back(std::move(draft));
}

}  // namespace fheres::documents
