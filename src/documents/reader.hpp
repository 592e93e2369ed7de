#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fheres/base/bytes.hpp>
#include <fheres/documents/load.hpp>
#include <fheres/memory/location.hpp>
#include <fheres/workload/draft.hpp>

#include "node.hpp"

namespace fheres::documents {

using workload::Location;
using workload::Name;
using workload::Place;

// What a hostile document can make us keep; far fewer are listed.
inline constexpr std::size_t kMostDiagnostics = 20'000;

/// A stage's plan may come from one of many in another document, which is read once.
struct OtherPlan {
  workload::ProgramDraft program;
  std::unordered_map<std::string, std::size_t> stages;
};

/// What all readers of one document share.
struct Context {
  std::filesystem::path folder;  // relative paths start here
  LoadOptions options;
  std::vector<Diagnostic> diagnostics;
  Sources sources;
  std::uint64_t range_items = 0;  // values that ranges such as 0..7 stand for: bounded too
  Bytes total_bytes = 0;  // of all sizes in the document: bounded, so that no sum of them can overflow
  std::uint64_t expanded_items = 0, expanded_nodes = 0, expanded_bytes = 0;  // made by `for`
  std::map<std::string, std::shared_ptr<OtherPlan>> plans;    // by path; null where it could not be read
  std::map<std::string, workload::FileMessage> number_files;  // by path; without numbers where it was refused
  bool expansion_failed = false;  // some item was not made, which has been reported: its name is not known

  void report(const char* code, const Place& place, const std::string& message,
              const std::string& hint = {}) {
    if (diagnostics.size() >= kMostDiagnostics) return;
    // Texts of the document stand in messages, and they can be as long as the file.
    diagnostics.push_back({code, place, clipped(message, 400), clipped(hint, 400)});
  }
};

/// As many as a document may have nodes.
inline constexpr std::uint64_t kMostRangeItems = 1'000'000;

/// Readers of single nodes. Each reports what is wrong and then returns nothing.
std::optional<std::string> read_text(Context& context, const Node& node, const char* what);
/// A name: not empty, no blanks or control characters, at most 200 bytes.
std::optional<Name> read_name(Context& context, const Node& node, const char* what);
bool check_name(Context& context, const std::string& text, const Place& place, const char* what);
std::optional<std::int64_t> read_integer(Context& context, const Node& node, const char* what,
                                         std::int64_t low, std::int64_t high);
std::optional<std::uint64_t> read_unsigned(Context& context, const Node& node, const char* what);
/// A finite number.
std::optional<double> read_real(Context& context, const Node& node, const char* what);
std::optional<Bytes> read_bytes(Context& context, const Node& node);
/// A size that something is charged with: counts towards the document's total.
std::optional<Bytes> read_charge(Context& context, const Node& node);
std::optional<Location> read_location(Context& context, const Node& node);
std::optional<Location> read_location(Context& context, const std::string& text, const Place& place);
/// The index of the word.
std::optional<std::size_t> read_choice(Context& context, const Node& node, const char* what,
                                       const std::vector<std::string>& words);
/// One name, or a list of them.
std::vector<Name> read_names(Context& context, const Node& node, const char* what);
/// The items of a list; reports anything else.
const std::vector<std::shared_ptr<const Node>>& read_list(Context& context, const Node& node,
                                                          const char* what);

/// A map with a fixed set of keys. Ask for each key that there may be, then call finish().
class MapReader {
 public:
  /// Reports a node that is no map; then every key is absent and nothing more is reported.
  MapReader(Context& context, const Node& node, const char* what);

  bool valid() const { return valid_; }
  const Place& place() const { return node_.place; }
  /// The key's value, or nothing when the key is absent.
  const Node* get(const char* key);
  /// As get, and reports when it is absent.
  const Node* need(const char* key);
  /// The key's entry (for its place).
  const Node::Entry* entry(const char* key);
  /// Reports every key that nobody asked for.
  void finish();

 private:
  Context& context_;
  const Node& node_;
  const char* what_;
  bool valid_;
  std::vector<std::string> asked_;
};

/// A map with exactly one key, such as `{sine: {...}}`; `what` names what the key is.
const Node::Entry* read_single(Context& context, const Node& node, const char* what);

/// The file that a document names, inside the document's folder unless that is allowed to be left.
std::optional<std::filesystem::path> read_path(Context& context, const Node& node);

}  // namespace fheres::documents
