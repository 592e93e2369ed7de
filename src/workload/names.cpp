#include "names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <fheres/workload/check.hpp>

namespace fheres::workload {
namespace {

// Names that suggestions may look at: in documents of many names only the first few problems get one.
constexpr std::uint64_t kMostCompared = 2'000'000;

/// Edit distance with insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

constexpr const char* kNameEachItem = "each item of a `for` needs a name of its own, such as `tile-${t}`";

/// Two items of one expanded entry.
bool same_entry(const Place& a, const Place& b) {
  return !a.instance.empty() && !b.instance.empty() && a.file == b.file && a.line == b.line &&
         a.column == b.column;
}

}  // namespace

std::string closest(const std::string& word, const std::vector<std::string>& names) {
  // Long words only get what a person could mistype; comparing them with every name must stay cheap.
  if (word.empty() || word.size() > 200) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t difference = std::max(name.size(), word.size()) - std::min(name.size(), word.size());
    if (difference >= best_distance || name == word) continue;
    const std::size_t d = distance(word, name);
    if (d < best_distance && d < std::max(word.size(), name.size())) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

std::string at_line(const Place& place) {
  if (!place.known()) return {};
  if (place.instance.empty()) return fmt::format(" at line {}", place.line);
  return fmt::format(" at line {} ({})", place.line, place.instance.str());
}

bool Names::define(const Name& name, const Definition& definition, Problems& problems) {
  const auto [found, inserted] = definitions_.emplace(name.text, definition);
  if (!inserted) {
    problems.add("FHR0302", name.place,
                 fmt::format("`{}` is defined twice: first{}", name.text, at_line(found->second.place)),
                 same_entry(found->second.place, name.place)
                     ? kNameEachItem
                     : "a result of a later stage needs a name of its own");
  }
  return inserted;
}

const Definition* Names::look_up(const std::string& name) const {
  const auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

const Definition* Names::find(const Name& name, Problems& problems) const {
  if (const Definition* found = look_up(name.text)) return found;
  std::string near;
  if (!problems.many() && compared_ < kMostCompared) {
    compared_ += definitions_.size();
    std::vector<std::string> known;
    for (const auto& [text, definition] : definitions_) known.push_back(text);
    near = closest(name.text, known);
  }
  problems.add("FHR0301", name.place, fmt::format("there is no value named `{}`", name.text),
               near.empty() ? "" : fmt::format("did you mean `{}`?", near));
  return nullptr;
}

void check_unique(const std::vector<Name>& names, const char* what, Problems& problems) {
  std::map<std::string, Place> seen;
  for (const Name& name : names) {
    if (name.text.empty()) continue;  // said where it was read
    const auto [found, inserted] = seen.emplace(name.text, name.place);
    if (inserted) continue;
    problems.add("FHR0302", name.place,
                 fmt::format("{} `{}` is defined twice: first{}", what, name.text, at_line(found->second)),
                 same_entry(found->second, name.place) ? kNameEachItem : "");
  }
}

}  // namespace fheres::workload
