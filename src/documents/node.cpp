#include "node.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace fheres::documents {
namespace {

using workload::Place;

/// Ends a parse; its diagnostic has been recorded.
struct Stop {};

/// Reads from memory that somebody else owns.
class View : public std::streambuf {
 public:
  explicit View(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

/// Turns the parser's byte positions into lines and columns of characters.
class Positions {
 public:
  Positions(std::string_view text, SharedText file) : text_(text), file_(std::move(file)) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  Place place(const YAML::Mark& mark, int length) const {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    int column = std::max(mark.column, 0);
    if (line < starts_.size()) column = characters_before(line, static_cast<std::size_t>(column));
    return {file_, static_cast<int>(line) + 1, column + 1, std::max(length, 1)};
  }

  std::string_view line(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (line >= starts_.size()) return {};
    const std::string_view rest = text_.substr(starts_[line]);
    return rest.substr(0, rest.find('\n'));
  }

 private:
  /// Goes on from the place before where it can: a file of one very long line stays linear.
  int characters_before(std::size_t line, std::size_t bytes) const {
    if (line != line_ || bytes < bytes_) {
      line_ = line;
      bytes_ = 0;
      characters_ = 0;
    }
    const std::string_view rest = text_.substr(std::min(starts_[line] + bytes_, text_.size()));
    characters_ += character_count(rest.substr(0, bytes - bytes_));
    bytes_ = bytes;
    return characters_;
  }

  mutable std::size_t line_ = 0, bytes_ = 0;
  mutable int characters_ = 0;
  std::string_view text_;
  SharedText file_;
  std::vector<std::size_t> starts_;
};

class Builder : public YAML::EventHandler {
 public:
  Builder(const Positions& positions, const Limits& limits, std::vector<Diagnostic>& diagnostics)
      : positions_(positions), limits_(limits), diagnostics_(diagnostics) {}

  std::shared_ptr<const Node> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(Node::Kind::null, mark, 1), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop("FHR0004", mark, "an alias stands inside what it is an alias of");
    alias_nodes_ += found->second->size;
    if (alias_nodes_ > limits_.alias_nodes) {
      stop("FHR0004", mark, fmt::format("aliases expand to more than {} nodes", limits_.alias_nodes));
    }
    count(found->second->size, mark);
    add(found->second);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(tag, mark);
    const bool quoted = tag == "!";
    const bool one_line = value.find('\n') == value.npos;
    auto node = make(Node::Kind::scalar, mark, one_line ? character_count(value) + (quoted ? 2 : 0) : 1);
    node->text = value;
    node->quoted = quoted;
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  /// A sequence or map whose end has not come yet.
  struct Open {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = 0;
    std::optional<Node::Entry> key;              // map: a key that waits for its value
    bool skip = false;                           // the key was refused, its value is not kept
    std::unordered_map<std::string, int> lines;  // map: where each key stands
  };

  [[noreturn]] void stop(const char* code, const YAML::Mark& mark, std::string message) {
    diagnostics_.push_back({code, positions_.place(mark, 1), std::move(message), {}});
    throw Stop{};
  }

  void check_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    diagnostics_.push_back(
        {"FHR0106", positions_.place(mark, 1), "tags mean nothing here", "leave the tag out"});
  }

  void count(std::uint64_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > limits_.nodes) {
      stop("FHR0002", mark, fmt::format("the document has more than {} nodes", limits_.nodes));
    }
  }

  std::shared_ptr<Node> make(Node::Kind kind, const YAML::Mark& mark, int length) {
    count(1, mark);
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->place = positions_.place(mark, length);
    return node;
  }

  void start(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(tag, mark);
    if (static_cast<int>(open_.size()) >= limits_.depth) {
      stop("FHR0003", mark, fmt::format("nested more than {} levels deep", limits_.depth));
    }
    open_.push_back({make(kind, mark, 1), anchor, {}, false, {}});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.node), done.anchor);
  }

  void finish(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    add(std::move(node));
  }

  void add(std::shared_ptr<const Node> node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& open = open_.back();
    open.node->size += node->size;
    if (open.node->kind == Node::Kind::sequence) {
      open.node->items.push_back(std::move(node));
    } else if (!open.key) {
      add_key(open, *node);
    } else {
      if (!open.skip) {
        open.key->value = std::move(node);
        open.node->entries.push_back(std::move(*open.key));
      }
      open.key.reset();
    }
  }

  void add_key(Open& open, const Node& node) {
    open.key = Node::Entry{node.text, node.place, nullptr};
    open.skip = node.kind != Node::Kind::scalar;
    if (open.skip) {
      diagnostics_.push_back(
          {"FHR0106", node.place, fmt::format("a key is {}, expected a text", kind_of(node)), {}});
      return;
    }
    const auto [found, inserted] = open.lines.emplace(node.text, node.place.line);
    if (inserted) return;
    open.skip = true;
    diagnostics_.push_back(
        {"FHR0104",
         node.place,
         fmt::format("key `{}` stands twice: first at line {}", clipped(node.text), found->second),
         {}});
  }

  const Positions& positions_;
  const Limits& limits_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const Node>> anchors_;
  std::shared_ptr<const Node> root_;
  std::uint64_t nodes_ = 0;
  std::uint64_t alias_nodes_ = 0;
};

/// Sees where a second document starts; what is in it does not matter (the parser itself bounds its depth).
class Second : public YAML::EventHandler {
 public:
  explicit Second(const Positions& positions) : positions_(positions) {}
  Place place;

  void OnDocumentStart(const YAML::Mark& mark) override { place = positions_.place(mark, 1); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}

 private:
  const Positions& positions_;
};

/// The first byte that cannot be part of a text: no UTF-8, or a control character.
std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (byte < 0x80) {
      if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') return i;
      if (byte == 0x7f) return i;
    } else if (byte >= 0xc2 && byte <= 0xdf) {
      length = 2;
    } else if (byte >= 0xe0 && byte <= 0xef) {
      length = 3;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      length = 4;
    } else {
      return i;
    }
    if (i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    }
    i += length;
  }
  return std::nullopt;
}

Place place_of_byte(std::string_view text, const std::string& file, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return {file, static_cast<int>(line) + 1, character_count(before.substr(start)) + 1, 1};
}

/// The parser holds back all of a line until it knows whether the line begins with a key, in 100 to 250 bytes a mark: so
/// what a line may have is bounded before it.
std::optional<Diagnostic> crowded_line(std::string_view text, const std::string& file, const Limits& limits) {
  constexpr std::string_view kMarks = "[]{},:\"'-?&*!|>%@";
  std::array<bool, 256> is_mark{};
  for (const char mark : kMarks) is_mark[static_cast<unsigned char>(mark)] = true;
  std::size_t marks = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      marks = 0;
      depth = 0;
    }
    if (!is_mark[static_cast<unsigned char>(c)]) continue;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > limits.line_depth)
      return Diagnostic{"FHR0003",
                        place_of_byte(text, file, i),
                        fmt::format("nested more than {} levels deep", limits.depth),
                        {}};
    if (++marks > limits.line_marks)
      return Diagnostic{
          "FHR0002",
          place_of_byte(text, file, i),
          fmt::format("the line has more than {} brackets, quotes and other marks, expected several "
                      "lines",
                      limits.line_marks),
          {}};
  }
  return std::nullopt;
}

/// What else is likely in a line that no parser reads.
std::string cure_of(std::string_view line) {
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos)
    return "a tab cannot indent, only blanks can";
  if (line.find("${") != std::string_view::npos)
    return "inside { } and [ ] a text with ${...} needs quotes: \"x${t}\"";
  return {};
}

std::shared_ptr<const Node> parse_checked(std::string_view text, const std::string& file,
                                          const Limits& limits, std::vector<Diagnostic>& diagnostics) {
  const Positions positions(text, file);
  View view(text);
  std::istream stream(&view);
  try {
    YAML::Parser parser(stream);
    Builder first(positions, limits, diagnostics);
    if (!parser.HandleNextDocument(first)) {
      const bool one_line =
          text.find('\r') != std::string_view::npos && text.find('\n') == std::string_view::npos;
      diagnostics.push_back(
          {"FHR0006", Place{file, 1, 1, 1}, "the file is empty, expected one document",
           one_line ? "a carriage return alone ends no line: save it with line feeds" : ""});
      return nullptr;
    }
    auto root = first.take_root();
    Second second(positions);
    if (!parser.HandleNextDocument(second)) return root;
    diagnostics.push_back({"FHR0006", second.place, "the file has a second document, expected one", {}});
    return nullptr;
  } catch (const YAML::Exception& error) {
    std::string message = error.msg;
    if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z')
      message[0] = static_cast<char>(message[0] + 32);
    diagnostics.push_back({"FHR0005", positions.place(error.mark, 1),
                           fmt::format("this is no YAML: {}", message), cure_of(positions.line(error.mark))});
  } catch (const Stop&) {
    // Its diagnostic is recorded.
  }
  return nullptr;
}

}  // namespace

int character_count(std::string_view utf8) {
  return static_cast<int>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string clipped(std::string_view text, int limit) {
  std::string result;
  int characters = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++characters > limit) return result + "...";
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result;
}

std::string kind_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "empty";
    case Node::Kind::scalar:
      return node.quoted ? "a quoted text" : fmt::format("`{}`", clipped(node.text));
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return {};
}

std::shared_ptr<const Node> parse(std::string_view text, const std::string& file, const Limits& limits,
                                  std::vector<Diagnostic>& diagnostics) {
  if (text.size() > limits.bytes) {
    diagnostics.push_back(
        {"FHR0002",
         Place{file, 0, 0, 0},
         fmt::format("the file has {} bytes, expected at most {}", text.size(), limits.bytes),
         {}});
    return nullptr;
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const auto bad = first_bad_byte(text)) {
    diagnostics.push_back(
        {"FHR0005", place_of_byte(text, file, *bad),
         fmt::format("byte 0x{:02x} is no text in UTF-8", static_cast<unsigned char>(text[*bad])),
         text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ? "it is UTF-16: save it as UTF-8"
                                                                      : ""});
    return nullptr;
  }
  if (auto crowded = crowded_line(text, file, limits)) {
    diagnostics.push_back(std::move(*crowded));
    return nullptr;
  }
  return parse_checked(text, file, limits, diagnostics);
}

}  // namespace fheres::documents
