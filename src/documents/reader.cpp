#include "reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

namespace fheres::documents {
namespace {

// Sizes of a document add up to less than this, so that no account can overflow.
constexpr Bytes kMaxTotal = Bytes{1} << 54;
constexpr std::size_t kMaxName = 200;

/// The scalar's text, if it is a plain one: numbers are not quoted.
const std::string* plain(Context& context, const Node& node, const char* what, const char* expected) {
  if (node.kind == Node::Kind::scalar && !node.quoted) return &node.text;
  context.report("FHR0106", node.place, fmt::format("{} is {}, expected {}", what, kind_of(node), expected));
  return nullptr;
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (text.starts_with('+')) ++begin;
  const auto [stopped, error] = std::from_chars(begin, end, number);
  return error == std::errc{} && stopped == end && begin != end;
}

}  // namespace

std::optional<std::string> read_text(Context& context, const Node& node, const char* what) {
  if (node.kind == Node::Kind::scalar) return node.text;
  context.report("FHR0106", node.place, fmt::format("{} is {}, expected a text", what, kind_of(node)));
  return std::nullopt;
}

bool check_name(Context& context, const std::string& text, const Place& place, const char* what) {
  if (text.empty()) {
    context.report("FHR0108", place, fmt::format("{} is empty", what));
    return false;
  }
  if (text.size() > kMaxName) {
    context.report("FHR0108", place,
                   fmt::format("{} has {} bytes, expected at most {}", what, text.size(), kMaxName));
    return false;
  }
  const auto odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' ||
           std::string_view("`\"'${}[],").find(c) != std::string_view::npos;
  };
  if (std::any_of(text.begin(), text.end(), odd)) {
    context.report("FHR0108", place, fmt::format("{} has a blank, quote, bracket, comma or `$` in it", what));
    return false;
  }
  return true;
}

std::optional<Name> read_name(Context& context, const Node& node, const char* what) {
  const auto text = read_text(context, node, what);
  if (!text || !check_name(context, *text, node.place, what)) return std::nullopt;
  return Name{*text, node.place};
}

std::optional<std::int64_t> read_integer(Context& context, const Node& node, const char* what,
                                         std::int64_t low, std::int64_t high) {
  const std::string* text = plain(context, node, what, "a whole number");
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  if (!parse_number(*text, number)) {
    context.report("FHR0106", node.place, fmt::format("{} is `{}`, expected a whole number", what, *text));
    return std::nullopt;
  }
  if (number < low || number > high) {
    context.report("FHR0107", node.place,
                   fmt::format("{} is {}, expected {} to {}", what, number, low, high));
    return std::nullopt;
  }
  return number;
}

std::optional<std::uint64_t> read_unsigned(Context& context, const Node& node, const char* what) {
  const std::string* text = plain(context, node, what, "a whole number");
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  if (parse_number(*text, number)) return number;
  context.report("FHR0106", node.place,
                 fmt::format("{} is `{}`, expected a whole number of 0 or more, below 2^64", what, *text));
  return std::nullopt;
}

std::optional<double> read_real(Context& context, const Node& node, const char* what) {
  const std::string* text = plain(context, node, what, "a number");
  if (!text) return std::nullopt;
  double number = 0;
  if (parse_number(*text, number) && std::isfinite(number)) return number;
  context.report("FHR0106", node.place, fmt::format("{} is `{}`, expected a finite number", what, *text));
  return std::nullopt;
}

std::optional<Bytes> read_bytes(Context& context, const Node& node) {
  if (node.kind != Node::Kind::scalar) {
    context.report("FHR0106", node.place,
                   fmt::format("a size is {}, expected a number of bytes such as `64 MiB`", kind_of(node)));
    return std::nullopt;
  }
  const auto parsed = parse_bytes(clipped(node.text));
  if (const auto* bad = std::get_if<BadBytes>(&parsed)) {
    context.report("FHR0109", node.place, bad->reason);
    return std::nullopt;
  }
  return std::get<Bytes>(parsed);
}

std::optional<Bytes> read_charge(Context& context, const Node& node) {
  const auto bytes = read_bytes(context, node);
  if (!bytes) return std::nullopt;
  if (*bytes >= kMaxTotal || context.total_bytes + *bytes >= kMaxTotal) {
    context.report(
        "FHR0109", node.place,
        fmt::format("with {} the sizes of this document add up to 2^54 bytes or more", format_bytes(*bytes)));
    return std::nullopt;
  }
  context.total_bytes += round_up_to_granule(*bytes);
  return bytes;
}

std::optional<Location> read_location(Context& context, const std::string& text, const Place& place) {
  if (const auto location = Location::from_name(text)) return location;
  const std::string near = workload::closest(text, {"pageable-host", "pinned-host", "cuda:0"});
  context.report(
      "FHR0110", place,
      fmt::format("`{}` is no location, expected pageable-host, pinned-host or cuda:N with N from 0 to 127",
                  text),
      near.empty() || text.starts_with("cuda:") ? "" : fmt::format("did you mean `{}`?", near));
  return std::nullopt;
}

std::optional<Location> read_location(Context& context, const Node& node) {
  const auto text = read_text(context, node, "a location");
  if (!text) return std::nullopt;
  return read_location(context, *text, node.place);
}

std::optional<std::size_t> read_choice(Context& context, const Node& node, const char* what,
                                       const std::vector<std::string>& words) {
  const auto text = read_text(context, node, what);
  if (!text) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string near = workload::closest(*text, words);
  context.report("FHR0111", node.place,
                 fmt::format("{} is `{}`, expected {}", what, *text, fmt::join(words, " or ")),
                 near.empty() ? "" : fmt::format("did you mean `{}`?", near));
  return std::nullopt;
}

std::vector<Name> read_names(Context& context, const Node& node, const char* what) {
  std::vector<Name> names;
  if (node.kind == Node::Kind::sequence) {
    for (const auto& item : node.items) {
      if (auto name = read_name(context, *item, what)) names.push_back(std::move(*name));
    }
  } else if (auto name = read_name(context, node, what)) {
    names.push_back(std::move(*name));
  }
  return names;
}

const std::vector<std::shared_ptr<const Node>>& read_list(Context& context, const Node& node,
                                                          const char* what) {
  if (node.kind != Node::Kind::sequence) {
    context.report("FHR0106", node.place, fmt::format("{} is {}, expected a list", what, kind_of(node)));
  }
  return node.items;
}

MapReader::MapReader(Context& context, const Node& node, const char* what)
    : context_(context), node_(node), what_(what), valid_(node.kind == Node::Kind::map) {
  if (!valid_) {
    context.report("FHR0106", node.place, fmt::format("{} is {}, expected a map", what, kind_of(node)));
  }
}

const Node::Entry* MapReader::entry(const char* key) {
  asked_.emplace_back(key);
  for (const Node::Entry& entry : node_.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const Node* MapReader::get(const char* key) {
  const Node::Entry* found = entry(key);
  return found ? found->value.get() : nullptr;
}

const Node* MapReader::need(const char* key) {
  const Node* found = get(key);
  if (!found && valid_) context_.report("FHR0105", node_.place, fmt::format("{} has no `{}`", what_, key));
  return found;
}

void MapReader::finish() {
  for (const Node::Entry& entry : node_.entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
    std::string hint;
    if (context_.diagnostics.size() >= kMostDiagnostics) return;
    if (const std::string near = workload::closest(entry.key, asked_); !near.empty()) {
      hint = fmt::format("did you mean `{}`?", near);
    } else if (!asked_.empty()) {
      hint = fmt::format("it may have: {}", fmt::join(asked_, ", "));
    }
    context_.report("FHR0103", entry.place, fmt::format("{} has no key `{}`", what_, entry.key),
                    std::move(hint));
  }
}

const Node::Entry* read_single(Context& context, const Node& node, const char* what) {
  if (node.kind == Node::Kind::map && node.entries.size() == 1) return &node.entries.front();
  if (node.kind == Node::Kind::map && !node.entries.empty()) {
    context.report("FHR0113", node.entries[1].place,
                   fmt::format("`{}` stands beside `{}`, expected one {}", node.entries[1].key,
                               node.entries[0].key, what));
  } else {
    context.report("FHR0106", node.place,
                   fmt::format("{} is {}, expected a map with one key", what,
                               node.kind == Node::Kind::map ? "an empty map" : kind_of(node)));
  }
  return nullptr;
}

std::optional<std::filesystem::path> read_path(Context& context, const Node& node) {
  const auto text = read_text(context, node, "a path");
  if (!text) return std::nullopt;
  if (text->empty()) {
    context.report("FHR0108", node.place, "a path is empty");
    return std::nullopt;
  }
  const std::filesystem::path path = context.folder / *text;
  if (context.options.allow_outside) return path;
  // Links are followed: what counts is where the file really is.
  std::error_code error;
  const auto folder = std::filesystem::weakly_canonical(context.folder.empty() ? "." : context.folder, error);
  // Absolute first: a relative path of which nothing exists would stay relative.
  const auto target = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
  if (!error && end == folder.end()) return path;
  context.report("FHR0112", node.place, fmt::format("`{}` leaves the document's folder", *text),
                 "`--allow-outside` permits it");
  return std::nullopt;
}

}  // namespace fheres::documents
