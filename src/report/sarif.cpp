#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/report/sarif.hpp>

namespace fheres::report {
namespace {

std::string percent_encoded(const std::string& text) {
  std::string uri;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

/// A path as a URI reference: relative paths stay relative, which is what a checkout needs.
std::string uri_of(const std::string& path) {
  return (path.starts_with('/') ? "file://" : "") + percent_encoded(path);
}

Json region_of(const workload::Place& place) {
  if (!place.known()) return {{"startLine", 1}};
  Json region = {{"startLine", place.line}};
  if (place.column > 0) {
    region["startColumn"] = place.column;
    region["endColumn"] = place.column + std::max(place.length, 1);
  }
  return region;
}

Json rule_of(const std::string& code) {
  const std::string text(documents::meaning(code));
  const bool known = !text.empty();
  return {{"id", code},
          {"shortDescription", {{"text", known ? text : fmt::format("{} does not hold", code)}}},
          {"help",
           {{"text", known ? fmt::format("`fheres explain-code {}` says more", code)
                           : std::string("docs/rules.md lists the rules R1 to R66")}}}};
}

}  // namespace

Json sarif(std::span<const Finding> findings, const std::string& tool_version, const std::string& command,
           const std::string& document) {
  std::set<std::string> codes;
  for (const Finding& finding : findings) codes.insert(finding.code);
  Json rules = Json::array();
  for (const std::string& code : codes) rules.push_back(rule_of(code));
  Json results = Json::array();
  for (const Finding& finding : findings) {
    const auto rule = std::distance(codes.begin(), codes.find(finding.code));
    const std::string hint = finding.hint.empty() ? "" : fmt::format(" ({})", finding.hint);
    Json location;
    location["physicalLocation"] = {{"artifactLocation", {{"uri", uri_of(finding.place.file)}}},
                                    {"region", region_of(finding.place)}};
    results.push_back({{"ruleId", finding.code},
                       {"ruleIndex", rule},
                       {"level", "error"},
                       {"message", {{"text", finding.message + hint}}},
                       {"locations", Json::array({std::move(location)})}});
  }
  Json run;
  run["tool"]["driver"] = {{"name", "fheres"}, {"version", tool_version}, {"rules", std::move(rules)}};
  // Two of the same are taken for one another where several are uploaded at once.
  std::string category = command;
  std::replace(category.begin(), category.end(), ' ', '-');
  run["automationDetails"] = {{"id", fmt::format("{}/{}/", category, percent_encoded(document))}};
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = std::move(results);
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(run)})}};
}

}  // namespace fheres::report
