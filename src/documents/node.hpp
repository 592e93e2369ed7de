#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fheres/documents/diagnostic.hpp>

namespace fheres::documents {

/// What hostile files may cost (design, page 04).
struct Limits {
  std::size_t bytes = 16 * 1024 * 1024;
  int depth = 64;
  int line_depth = 1000;               // brackets that one line opens and does not close
  std::size_t line_marks = 2'000'000;  // of punctuation on one line
  std::uint64_t alias_nodes = 100'000;
  std::uint64_t nodes = 1'000'000;                  // of a file; and of everything that `for` makes
  std::uint64_t expanded_items = 1'000'000;         // made by `for`
  std::uint64_t expanded_bytes = 64 * 1024 * 1024;  // of their texts
};

/// One node of a document, with its place. Immutable once parsed; nodes behind aliases are shared, not copied.
struct Node {
  enum class Kind { null, scalar, sequence, map };
  struct Entry;
  Kind kind = Kind::null;
  workload::Place place;
  std::string text;                                // scalar
  bool quoted = false;                             // scalar: not plain, so always a text
  std::vector<std::shared_ptr<const Node>> items;  // sequence
  std::vector<Entry> entries;                      // map, in the document's order, keys unique
  std::uint64_t size = 1;                          // nodes in this tree, aliases expanded
};

struct Node::Entry {
  std::string key;
  workload::Place place;  // of the key
  std::shared_ptr<const Node> value;
};

/// Text for a message: one line of at most so many characters.
std::string clipped(std::string_view text, int limit = 40);
/// `a map`, `a list`, `empty`, or the scalar's own text: for messages.
std::string kind_of(const Node& node);

/// Parses one document. Limits act while parsing. What is wrong goes to `diagnostics`: a broken syntax or limit ends
/// the parse (and gives no tree), a duplicate key does not.
std::shared_ptr<const Node> parse(std::string_view text, const std::string& file, const Limits& limits,
                                  std::vector<Diagnostic>& diagnostics);

/// The number of characters (code points) in UTF-8 text.
int character_count(std::string_view utf8);

}  // namespace fheres::documents
