#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <fheres/report/junit.hpp>

namespace fheres::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 character that the text starts with and that XML may have; 0 where there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 || lead == '\t' || lead == '\n' || lead == '\r' ? 1 : 0;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[length] || code > 0x10FFFF || surrogate || (code & 0xFFFE) == 0xFFFE ? 0 : length;
}

/// As text of an element or value of an attribute.
std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    switch (text.front()) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += length == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string place_text(const workload::Place& place) {
  const std::string& file = place.file;
  return place.known() ? fmt::format("{}:{}:{}", file, place.line, place.column) : file;
}

/// `failure` or `error`: where, what, and how to cure it.
std::string complaint(const char* element, const Case& item) {
  std::string body;
  for (const Finding& finding : item.findings) {
    const std::string place = place_text(finding.place);
    body += fmt::format("{}{}{} [{}]\n", place, place.empty() ? "" : ": ", finding.message, finding.code);
    if (!finding.hint.empty()) body += finding.hint + "\n";
  }
  if (!item.detail.empty()) body += "\n" + item.detail;
  const Finding& first = item.findings.front();
  const std::size_t more = item.findings.size() - 1;
  const std::string message =
      more == 0 ? first.message : fmt::format("{} (and {} more)", first.message, more);
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element, escape(first.code),
                     escape(message), escape(body));
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
      return fmt::format("      <skipped message=\"{}\"/>\n", escape(item.reason));
  }
  return "";
}

}  // namespace

std::string junit(const std::string& suite, const std::string& document, std::span<const Case> cases) {
  const auto count = [&](Case::Result result) {
    return std::count_if(cases.begin(), cases.end(), [&](const Case& item) { return item.result == result; });
  };
  const std::string totals =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"", escape(suite), cases.size(),
                  count(Case::Result::failed), count(Case::Result::undecided));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {} skipped=\"{}\">\n",
      totals, totals, count(Case::Result::skipped));
  for (const Case& item : cases) {
    const std::string content = inside(item);
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}", escape(document), escape(item.name),
                        content.empty() ? "/>\n" : ">\n" + content + "    </testcase>\n");
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace fheres::report
