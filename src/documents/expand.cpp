#include "expand.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "expression.hpp"

namespace fheres::documents {
namespace {

constexpr const char* kBadFor = "FHR0601";
constexpr const char* kUnknownVariable = "FHR0603";
constexpr const char* kTooMany = "FHR0605";
constexpr const char* kFor = "for";
constexpr std::size_t kMaxVariables = 8;

/// A variable with the values that it takes: a range, or those of a list.
struct Range {
  std::string name;
  std::int64_t low = 0;
  std::vector<std::int64_t> listed{};
  std::uint64_t count = 0;
  std::int64_t at(std::uint64_t i) const {
    return listed.empty() ? low + static_cast<std::int64_t>(i) : listed[i];
  }
};

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What a subtree costs each time that it is made.
struct Cost {
  std::uint64_t nodes = 0, bytes = 0;
};

void add_cost(const Node& node, Cost& cost) {
  ++cost.nodes;
  cost.bytes += node.text.size();
  for (const auto& item : node.items) add_cost(*item, cost);
  for (const Node::Entry& entry : node.entries) {
    cost.bytes += entry.key.size();
    add_cost(*entry.value, cost);
  }
}

/// The first text with an expression, and its place.
std::optional<Name> first_expression(const Node& node) {
  if (has_expression(node.text)) return Name{node.text, node.place};
  for (const auto& item : node.items) {
    if (auto found = first_expression(*item)) return found;
  }
  for (const Node::Entry& entry : node.entries) {
    if (has_expression(entry.key)) return Name{entry.key, entry.place};
    if (auto found = first_expression(*entry.value)) return found;
  }
  return std::nullopt;
}

class Expander {
 public:
  explicit Expander(Context& context) : context_(context) {}

  /// The `for` of a value or stage.
  static const Node::Entry* for_of(const Node& node) {
    for (const Node::Entry& entry : node.entries) {
      if (entry.key == kFor) return &entry;
    }
    return nullptr;
  }

  /// Reports an expression where there are no variables.
  bool check_plain(const std::string& key, const Place& place, const Node& node) {
    std::optional<Name> found = has_expression(key) ? Name{key, place} : first_expression(node);
    if (!found) return true;
    fail(kUnknownVariable, found->place,
         fmt::format("`{}` has an expression, and nothing around it has a `for`", clipped(found->text)),
         "give the value or stage its variables: `for: {t: 0..15}`");
    return false;
  }

  /// `each` is called with the variables set, once for each combination.
  template <class Each>
  void run(const Node::Entry& loop, const std::string& key, const Node& node, const Each& each) {
    const auto ranges = read_ranges(*loop.value);
    if (!ranges) return;
    if (!allowed(loop.place, *ranges, key, node)) return;
    const std::vector<Variable> outer = variables_;
    const SharedText outer_instance = instance_;
    std::vector<std::uint64_t> digits(ranges->size());
    do {
      variables_ = outer;
      set(*ranges, digits);
      each();
    } while (advance(*ranges, digits));
    variables_ = outer;
    instance_ = outer_instance;
  }

  /// The items of a list, inside of the variables that are set. `group` is the key under which an item may hold a list
  /// of its own instead, or null.
  void items(const Node& list, const char* group, const std::function<void(const Node&)>& read) {
    for (const auto& item : list.items) {
      const Node::Entry* loop = for_of(*item);
      const Node::Entry* inner = group == nullptr ? nullptr : entry_of(*item, group);
      if (inner) {
        expand_group(*item, loop, *inner, group, read);
      } else if (loop) {
        run(*loop, {}, *item, [&] { read_copy(*item, read); });
      } else if (variables_.empty()) {
        if (check_plain({}, {}, *item)) read(*item);
      } else {
        read_copy(*item, read);
      }
    }
  }

  std::optional<std::string> text(const std::string& original, const Place& place) {
    auto result = substitute(original, variables_);
    if (auto* bad = std::get_if<BadExpression>(&result)) {
      fail(bad->code, here(place), bad->message, bad->hint);
      return std::nullopt;
    }
    return std::get<std::string>(std::move(result));
  }

  Place here(Place place) const {
    place.instance = instance_;
    return place;
  }

  /// One item's copy of a subtree; nothing, and a report, where an expression in it has no value.
  std::shared_ptr<const Node> copy(const Node& node, bool top) {
    auto result = std::make_shared<Node>();
    result->kind = node.kind;
    result->place = here(node.place);
    result->quoted = node.quoted;
    result->size = node.size;
    bool good = true;
    if (has_expression(node.text)) {
      // In braces and brackets an expression needs quotes, which then say nothing about what it stands for.
      result->quoted = false;
      auto made = text(node.text, node.place);
      good = made.has_value();
      if (made) result->text = std::move(*made);
    } else {
      result->text = node.text;
    }
    for (const auto& item : node.items) {
      auto made = copy(*item, false);
      good = good && made;
      result->items.push_back(std::move(made));
    }
    if (!copy_entries(node, top, *result)) good = false;
    return good ? result : nullptr;
  }

 private:
  static const Node::Entry* entry_of(const Node& node, const char* key) {
    for (const Node::Entry& entry : node.entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }

  void read_copy(const Node& item, const std::function<void(const Node&)>& read) {
    if (const auto made = copy(item, true)) read(*made);
  }

  void expand_group(const Node& node, const Node::Entry* loop, const Node::Entry& inner, const char* group,
                    const std::function<void(const Node&)>& read) {
    for (const Node::Entry& entry : node.entries) {
      if (entry.key != kFor && entry.key != group)
        fail("FHR0103", entry.place,
             fmt::format("a group of {0} has no key `{1}`, only `for` and `{0}`", group, clipped(entry.key)));
    }
    if (!loop) {
      fail("FHR0105", node.place, fmt::format("a group of {} has no `for`", group));
    } else if (inner.value->kind != Node::Kind::sequence || inner.value->items.empty()) {
      fail("FHR0106", inner.place,
           fmt::format("{} is {}, expected a list of at least one", group,
                       inner.value->kind == Node::Kind::sequence ? "empty" : kind_of(*inner.value)));
    } else {
      run(*loop, {}, node, [&] { items(*inner.value, group, read); });
    }
  }

  bool copy_entries(const Node& node, bool top, Node& result) {
    bool good = true;
    bool changed = false;
    for (const Node::Entry& entry : node.entries) {
      if (top && entry.key == kFor) continue;
      Node::Entry made{entry.key, here(entry.place), copy(*entry.value, false)};
      if (has_expression(entry.key)) {
        changed = true;
        auto key = text(entry.key, entry.place);
        good = good && key;
        made.key = std::move(key).value_or("");
      }
      good = good && made.value;
      result.entries.push_back(std::move(made));
    }
    if (!good || !changed) return good;
    std::unordered_set<std::string_view> keys;
    for (const Node::Entry& entry : result.entries) {
      if (keys.insert(entry.key).second) continue;
      fail("FHR0104", entry.place, fmt::format("key `{}` stands twice", clipped(entry.key)));
      good = false;
    }
    return good;
  }

  void fail(const char* code, const Place& place, const std::string& message, const std::string& hint = {}) {
    context_.expansion_failed = true;
    context_.report(code, place, message, hint);
  }

  std::optional<std::vector<Range>> read_ranges(const Node& node) {
    if (node.kind != Node::Kind::map || node.entries.empty() || node.entries.size() > kMaxVariables) {
      fail(kBadFor, node.place,
           fmt::format("`for` is {}, expected a map of 1 to {} variables such as {{t: 0..15}}",
                       node.kind != Node::Kind::map ? kind_of(node)
                       : node.entries.empty()       ? "an empty map"
                                              : fmt::format("a map of {} variables", node.entries.size()),
                       kMaxVariables));
      return std::nullopt;
    }
    std::vector<Range> ranges;
    for (const Node::Entry& entry : node.entries) {
      if (!is_variable_name(entry.key)) {
        fail(kBadFor, entry.place,
             fmt::format("`{}` is no variable, expected letters, digits and `_`, at most 32, a letter first",
                         clipped(entry.key)));
      } else if (std::ranges::find(variables_, entry.key, &Variable::name) != variables_.end()) {
        fail(kBadFor, entry.place,
             fmt::format("`{}` is a variable of the group around it already", clipped(entry.key)));
      } else if (auto range = read_range(entry)) {
        ranges.push_back(std::move(*range));
      }
    }
    if (ranges.size() != node.entries.size()) return std::nullopt;
    return ranges;
  }

  std::optional<Range> read_range(const Node::Entry& entry) {
    const Node& node = *entry.value;
    Range range{entry.key};
    if (node.kind == Node::Kind::sequence && !node.items.empty()) {
      for (const auto& item : node.items) {
        const auto number = item->kind == Node::Kind::scalar ? whole(item->text) : std::nullopt;
        if (!number) {
          fail(kBadFor, item->place,
               fmt::format("`{}` takes {}, expected a whole number", entry.key, kind_of(*item)));
          return std::nullopt;
        }
        range.listed.push_back(*number);
      }
      range.count = range.listed.size();
      return range;
    }
    const auto dots = node.text.find("..");
    const auto low = whole(std::string_view(node.text).substr(0, dots));
    const auto high =
        dots == node.text.npos ? std::nullopt : whole(std::string_view(node.text).substr(dots + 2));
    if (!low || !high) {
      fail(kBadFor, node.place,
           fmt::format("`{}` runs over {}, expected a range such as `0..15` or a list of whole numbers",
                       entry.key, node.kind == Node::Kind::sequence ? "an empty list" : kind_of(node)));
      return std::nullopt;
    }
    if (*low > *high) {
      fail(kBadFor, node.place,
           fmt::format("`{}` runs from {} to {}, expected the smaller one first", entry.key, *low, *high),
           "both ends belong to the range");
      return std::nullopt;
    }
    range.low = *low;
    range.count = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low);
    if (range.count != ~std::uint64_t{0})
      ++range.count;  // a range of all 64 bits is refused as any other large one
    return range;
  }

  bool allowed(const Place& place, const std::vector<Range>& ranges, const std::string& key,
               const Node& node) {
    const Limits limits;
    std::uint64_t items = 1;
    for (const Range& range : ranges) {
      if (__builtin_mul_overflow(items, range.count, &items)) items = ~std::uint64_t{0};
    }
    if (items > limits.expanded_items - context_.expanded_items) {
      fail(kTooMany, place,
           fmt::format("the `for` of this document make {} items or more, expected at most {}",
                       std::max(items, items + context_.expanded_items), limits.expanded_items));
      return false;
    }
    Cost cost{0, key.size()};
    add_cost(node, cost);
    if (cost.nodes * items > limits.nodes - context_.expanded_nodes) {
      fail(kTooMany, place,
           fmt::format("{} items of {} nodes make {} nodes, expected at most {} of all `for` together", items,
                       cost.nodes, cost.nodes * items, limits.nodes));
      return false;
    }
    if (cost.bytes * items > limits.expanded_bytes - context_.expanded_bytes) {
      fail(
          kTooMany, place,
          fmt::format("{} items of {} bytes of text make {} bytes, expected at most {} of all `for` together",
                      items, cost.bytes, cost.bytes * items, limits.expanded_bytes));
      return false;
    }
    context_.expanded_items += items;
    context_.expanded_nodes += cost.nodes * items;
    context_.expanded_bytes += cost.bytes * items;
    return true;
  }

  void set(const std::vector<Range>& ranges, const std::vector<std::uint64_t>& digits) {
    for (std::size_t i = 0; i < ranges.size(); ++i)
      variables_.push_back({ranges[i].name, ranges[i].at(digits[i])});
    std::string instance;
    for (const Variable& variable : variables_)
      instance += fmt::format("{}{} = {}", instance.empty() ? "" : ", ", variable.name, variable.value);
    instance_ = std::move(instance);
  }

  /// False after the last combination.
  static bool advance(const std::vector<Range>& ranges, std::vector<std::uint64_t>& digits) {
    for (std::size_t i = ranges.size(); i-- > 0;) {
      if (++digits[i] < ranges[i].count) return true;
      digits[i] = 0;
    }
    return false;
  }

  Context& context_;
  std::vector<Variable> variables_;
  SharedText instance_;
};

}  // namespace

void expand_entries(Context& context, const Node& map, const std::function<void(const Node::Entry&)>& read) {
  Expander expander(context);
  for (const Node::Entry& entry : map.entries) {
    const Node::Entry* loop = Expander::for_of(*entry.value);
    if (!loop) {
      if (expander.check_plain(entry.key, entry.place, *entry.value)) read(entry);
      continue;
    }
    expander.run(*loop, entry.key, *entry.value, [&] {
      auto key = expander.text(entry.key, entry.place);
      auto value = expander.copy(*entry.value, true);
      if (key && value) read({std::move(*key), expander.here(entry.place), std::move(value)});
    });
  }
}

void expand_items(Context& context, const Node& list, const std::function<void(const Node&)>& read,
                  const char* group) {
  Expander(context).items(list, group, read);
}

}  // namespace fheres::documents
