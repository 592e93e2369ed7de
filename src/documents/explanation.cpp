#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <fheres/documents/diagnostic.hpp>

#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr std::size_t kColumns = 98;
constexpr std::string_view kHead = "apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: example}\n";
constexpr std::string_view kStages =
    "values:\n  other: {bytes: 1 MiB, at: pinned-host}\nstages:\n  - {name: one, require: {cuda:0: other}}\n";

std::vector<Explanation> collect() {
  std::vector<Explanation> all;
  for (const auto part :
       {file_explanations(), shape_explanations(), parameter_explanations(), value_explanations(),
        stage_explanations(), for_explanations(), machine_explanations(), answer_explanations()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Words on lines that begin with two blanks.
std::string filled(std::string_view text) {
  std::string result, line;
  const auto flush = [&] {
    if (!line.empty()) result += "  " + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() + 1 + word.size() > kColumns - 2) flush();
    if (!word.empty()) line.append(line.empty() ? "" : " ").append(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  flush();
  return result;
}

std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    result.append("    ").append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

bool has_line(std::string_view text, std::string_view start) {
  return text.starts_with(start) || text.find("\n" + std::string(start)) != text.npos;
}

}  // namespace

std::span<const Explanation> explanations() {
  static const std::vector<Explanation> all = collect();
  return all;
}

const Explanation* explanation(std::string_view code) {
  const auto all = explanations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Explanation& e) { return e.code == code; });
  return found == all.end() ? nullptr : &*found;
}

std::string whole_document(const Explanation& explanation) {
  std::string text(explanation.example);
  if (has_line(text, "apiVersion:")) return text;
  text = std::string(kHead) + text;
  if (!has_line(text, "stages:") && !has_line(text, "values:")) text += kStages;
  if (!has_line(text, "stages:")) text += "stages:\n  - {name: one, require: {cuda:0: w}}\n";
  return text;
}

std::string render(const Explanation& explanation) {
  std::string text = fmt::format("{}: {}\n\n", explanation.code, meaning(explanation.code));
  text += filled(explanation.why);
  if (!explanation.example.empty()) text += "\n  For example:\n\n" + indented(explanation.example);
  return text + "\n  What to do:\n\n" + filled(explanation.cure);
}

}  // namespace fheres::documents
