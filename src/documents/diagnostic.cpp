#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include <fheres/documents/diagnostic.hpp>

#include "node.hpp"

namespace fheres::documents {
namespace {

// Codes are grouped: 00 files, 01 shape, 02 parameters, 03 names and values, 04 stages and operations, 05 plans,
// 06 expansion, 09 answers. A code that is no longer used stays retired.
constexpr Code kCodes[] = {
    {"FHR0001", "a file cannot be read"},
    {"FHR0002", "a file is larger than 16 MiB, or has more than a million nodes"},
    {"FHR0003", "lists and maps are nested more than 64 levels deep"},
    {"FHR0004", "aliases expand to more than 100,000 nodes, or to themselves"},
    {"FHR0005", "the text is no YAML, or no UTF-8"},
    {"FHR0006", "a file holds no document, or more than one"},
    {"FHR0007", "there are more than a thousand problems; only the first thousand are listed"},
    {"FHR0101", "apiVersion is not fheres/v1"},
    {"FHR0102", "kind is not Workload, Plan, Request or Machine, or not the kind that is needed here"},
    {"FHR0103", "a key that means nothing where it stands"},
    {"FHR0104", "a key that stands twice in one map"},
    {"FHR0105", "something that has to be there is missing"},
    {"FHR0106", "a text, number, list or map stands where another of them is expected"},
    {"FHR0107", "a number is outside its range"},
    {"FHR0108", "a name is empty, too long, or has characters that names cannot have"},
    {"FHR0109", "a size is not written as one, or too large"},
    {"FHR0110", "a location is not pageable-host, pinned-host or cuda:0 to cuda:127"},
    {"FHR0111", "a word is not one of those that can stand there"},
    {"FHR0112", "a path leaves the folder of the document that names it"},
    {"FHR0113", "two keys stand side by side of which only one can"},
    {"FHR0201", "there is no preset of that name"},
    {"FHR0202", "the CKKS parameters cannot work"},
    {"FHR0203", "the CKKS parameters are not secure"},
    {"FHR0204", "a CKKS value needs parameters, and the document has none"},
    {"FHR0301", "there is no value of that name"},
    {"FHR0302", "a name is defined twice"},
    {"FHR0303", "a value is of the wrong kind for its use"},
    {"FHR0304", "an exclusive value would be at two locations"},
    {"FHR0305", "a location or requirement is listed twice"},
    {"FHR0306", "a message does not fit the slots or the scale"},
    {"FHR0307", "a level is outside the chain"},
    {"FHR0308", "a rotation by no steps, or by more than there are slots"},
    {"FHR0309", "a value is used before it is there, after its release, or outside its stage"},
    {"FHR0310", "a value starts nowhere"},
    {"FHR0312", "a fallback names the location itself, or one twice"},
    {"FHR0313", "peers are not two different devices, or are listed twice"},
    {"FHR0314", "values that need different secrets: some come from files, and this run would make others"},
    {"FHR0315", "a value comes from a file that is not there"},
    {"FHR0316", "a message's file is not there, or does not hold numbers as its name says"},
    {"FHR0401", "there is no operation of that name"},
    {"FHR0402", "an operation has the wrong number of operands"},
    {"FHR0403", "an operation lacks its key, or has one that does not serve it"},
    {"FHR0404", "an operand has the wrong level, scale or component count"},
    {"FHR0405", "a stage has nothing to do"},
    {"FHR0406", "the reservations of a stage do not hold what its body needs"},
    {"FHR0407", "an output is no result of its stage's body"},
    {"FHR0408", "a stage has a body and no location to run it"},
    {"FHR0409", "the diagonals of a linear transform stand twice, or are encoded for another use"},
    {"FHR0410", "a body has more than 20,000 operations"},
    {"FHR0501", "a produced value does not fit the reservation that it comes from, or there is none"},
    {"FHR0502", "an action goes from a location to itself"},
    {"FHR0503", "the other document has no stage of that name"},
    {"FHR0504", "a prefetch is no ensure"},
    {"FHR0505", "a value has a backing that nothing can be expanded from"},
    {"FHR0521", "a plan is of another version of the workload, or of none"},
    {"FHR0522", "a plan has other values, stages or outputs than the workload that it is to place"},
    {"FHR0523", "a plan names a variant that its workload does not leave to choose"},
    {"FHR0601", "a `for` is no map from variables to ranges, or one of its ranges is none"},
    {"FHR0602", "an expression in ${...} cannot be read"},
    {"FHR0603", "an expression has a variable that no `for` around it has"},
    {"FHR0604", "an expression divides by zero, or leaves 64 bits"},
    {"FHR0605", "the `for` of a document make more than 1,000,000 items, or more text than 64 MiB"},
    {"FHR0701", "a time or a rate is not written as one"},
    {"FHR0702", "a machine says something twice, or something that cannot be"},
    {"FHR0901", "what is asked for does not fit, and cannot be made to"},
    {"FHR0902", "the search limit was reached before an answer was"},
    {"FHR0903", "bytes moved, a peak, the predicted time or a plan's gap are worse than the baseline's"},
    {"FHR0904", "a decrypted result is outside its tolerance"},
    {"FHR0905", "a run failed on the way"},
    {"FHR0906", "a run was interrupted"},
};

constexpr std::size_t kWindow = 120;  // characters of a source line that are shown

struct Paint {
  std::string_view bold, red, cyan, plain;
};
constexpr Paint kColor{"\x1b[1m", "\x1b[1;31m", "\x1b[36m", "\x1b[0m"};
constexpr Paint kNoColor{"", "", "", ""};

std::string_view line_of(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const auto end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The bytes of the characters [first, first + count).
std::string_view characters(std::string_view line, std::size_t first, std::size_t count) {
  std::size_t begin = line.size(), seen = 0, end = line.size();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xc0) == 0x80) continue;
    if (seen == first) begin = i;
    if (seen == first + count) {
      end = i;
      break;
    }
    ++seen;
  }
  return line.substr(begin, end - begin);
}

/// The source line with a caret below it. Of a long line, the part around the place.
std::string excerpt(const workload::Place& place, std::string_view text, const Paint& paint) {
  const std::string_view line = line_of(text, place.line);
  const auto column = static_cast<std::size_t>(std::max(place.column, 1) - 1);
  const std::size_t first = column + 40 < kWindow ? 0 : column - 60;
  std::string shown(characters(line, first, kWindow));
  // A tab is as wide as a caret line can follow.
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  const std::string number = std::to_string(place.line);
  const std::size_t width = std::max<std::size_t>(number.size(), 4);
  const std::string cut = first == 0 ? "" : "...";
  const std::size_t room = static_cast<std::size_t>(character_count(shown)) + 1;
  const std::size_t length = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(place.length, 1)), 1,
                                                     room > column - first ? room - (column - first) : 1);
  return fmt::format("{}{:>{}} |{} {}{}\n{}{:>{}} |{} {}{}^{}{}\n", paint.cyan, number, width, paint.plain,
                     cut, shown, paint.cyan, "", width, paint.plain,
                     std::string(cut.size() + column - first, ' '), paint.red, std::string(length - 1, '~'),
                     paint.plain);
}

}  // namespace

std::span<const Code> codes() { return kCodes; }

std::string_view meaning(std::string_view code) {
  for (const Code& known : kCodes) {
    if (known.code == code) return known.meaning;
  }
  return {};
}

std::string render(const Diagnostic& diagnostic, const Sources& sources, bool color) {
  const Paint& paint = color ? kColor : kNoColor;
  const workload::Place& place = diagnostic.place;
  std::string where = place.file;
  if (place.known()) where += fmt::format(":{}:{}", place.line, place.column);
  std::string text = fmt::format("{}{}: {}error:{}{} {} [{}]{}\n", paint.bold, where, paint.red, paint.plain,
                                 paint.bold, diagnostic.message, diagnostic.code, paint.plain);
  if (const auto source = sources.find(place.file); place.known() && source != sources.end()) {
    text += excerpt(place, source->second, paint);
  }
  if (!diagnostic.hint.empty())
    text += fmt::format("{}     ={} {}\n", paint.cyan, paint.plain, diagnostic.hint);
  return text;
}

void sort_by_place(std::vector<Diagnostic>& diagnostics) {
  // Items of one `for` keep their order.
  static const std::string kSame;
  const auto key = [](const Diagnostic& d) {
    const bool item = !d.place.instance.empty();
    return std::tuple<const std::string&, int, int, const std::string&, bool, const std::string&>(
        d.place.file.str(), d.place.line, d.place.column, d.code, item, item ? kSame : d.message);
  };
  const auto whole = [](const Diagnostic& d) { return std::tie(d.place, d.code, d.message); };
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  diagnostics.erase(
      std::unique(diagnostics.begin(), diagnostics.end(),
                  [&](const Diagnostic& a, const Diagnostic& b) { return whole(a) == whole(b); }),
      diagnostics.end());
}

void name_instances(std::vector<Diagnostic>& diagnostics) {
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.code == b.code && a.place.file == b.place.file && a.place.line == b.place.line &&
           a.place.column == b.place.column && !b.place.instance.empty();
  };
  std::vector<Diagnostic> kept;
  for (std::size_t i = 0; i < diagnostics.size();) {
    Diagnostic& first = kept.emplace_back(std::move(diagnostics[i++]));
    if (first.place.instance.empty()) continue;
    std::size_t more = 0;
    for (; i < diagnostics.size() && same(first, diagnostics[i]); ++i) ++more;
    first.message += more == 0 ? fmt::format(" ({})", first.place.instance.str())
                               : fmt::format(" ({}, and for {} more)", first.place.instance.str(), more);
  }
  diagnostics = std::move(kept);
}

}  // namespace fheres::documents
