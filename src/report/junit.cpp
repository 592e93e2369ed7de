#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <fheres/report/junit.hpp>

#include "report/markup.hpp"
#include "report/where.hpp"

namespace fheres::report {
namespace {

/// `failure` or `error`: where, what, and how to cure it.
std::string complaint(const char* element, const Case& item) {
  std::string body;
  for (const Finding& finding : item.findings) {
    const std::string place = finding.place.known() ? place_text(finding.place) : finding.place.file.str();
    body += fmt::format("{}{}{} [{}]\n", place, place.empty() ? "" : ": ", finding.message, finding.code);
    if (!finding.hint.empty()) body += finding.hint + "\n";
  }
  if (!item.detail.empty()) body += "\n" + item.detail;
  const Finding& first = item.findings.front();
  const std::size_t more = item.findings.size() - 1;
  const std::string message =
      more == 0 ? first.message : fmt::format("{} (and {} more)", first.message, more);
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element, escaped(first.code),
                     escaped(message), escaped(body));
}

std::string inside(const Case& item) {
  switch (item.result) {
    case Case::Result::passed:
      return "";
    case Case::Result::failed:
      return complaint("failure", item);
    case Case::Result::undecided:
      return complaint("error", item);
    case Case::Result::skipped:
      return fmt::format("      <skipped message=\"{}\"/>\n", escaped(item.reason));
  }
  return "";
}

}  // namespace

std::string junit(const std::string& suite, const std::string& document, std::span<const Case> cases) {
  const auto count = [&](Case::Result result) {
    return std::count_if(cases.begin(), cases.end(), [&](const Case& item) { return item.result == result; });
  };
  const std::string totals =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"", escaped(suite), cases.size(),
                  count(Case::Result::failed), count(Case::Result::undecided));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {} skipped=\"{}\">\n",
      totals, totals, count(Case::Result::skipped));
  for (const Case& item : cases) {
    const std::string content = inside(item);
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}", escaped(document), escaped(item.name),
                        content.empty() ? "/>\n" : ">\n" + content + "    </testcase>\n");
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace fheres::report
