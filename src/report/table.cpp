#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/report/table.hpp>

namespace fheres::report {
namespace {

void append_padded(std::string& line, const std::string& cell, std::size_t width, Table::Align align) {
  const std::string padding(width - std::min(width, display_width(cell)), ' ');
  line += align == Table::Align::right ? padding + cell : cell + padding;
}

// A last column that would get less room than this is not broken: it would read worse than a long line.
constexpr std::size_t kNarrowest = 24;

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view rest = text.substr(0, end);
    std::string line;
    while (!rest.empty()) {
      const std::size_t blank = rest.find(' ');
      const std::string_view word = rest.substr(0, blank);
      rest.remove_prefix(blank == rest.npos ? rest.size() : blank + 1);
      if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
        lines.push_back(std::exchange(line, std::string(word)));
      } else {
        line += line.empty() ? std::string(word) : " " + std::string(word);
      }
    }
    lines.push_back(std::move(line));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void Table::add(std::vector<std::string> cells) {
  FHERES_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::render(int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  const std::size_t last = columns_.size() - 1;
  std::size_t before_last = static_cast<std::size_t>(indent) + 2 * last;
  for (std::size_t i = 0; i < last; ++i) before_last += widths[i];
  const bool wraps = columns_[last].align == Align::left && before_last + widths[last] > kColumns &&
                     before_last + kNarrowest <= kColumns;
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    const std::vector<std::string> ends =
        wraps ? wrap(cell_of(last), kColumns - before_last) : std::vector<std::string>{cell_of(last)};
    for (std::size_t part = 0; part < ends.size(); ++part) {
      std::string line(static_cast<std::size_t>(indent), ' ');
      for (std::size_t i = 0; i < last; ++i) {
        append_padded(line, part == 0 ? cell_of(i) : "", widths[i], columns_[i].align);
        line += "  ";
      }
      append_padded(line, ends[part], wraps ? 0 : widths[last], columns_[last].align);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  };
  add_line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return text;
}

std::string format_count(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string format_duration(double nanoseconds) {
  struct Unit {
    double scale;
    const char* name;
  };
  static constexpr std::array units{Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "µs"}, Unit{1, "ns"}};
  for (const Unit& unit : units) {
    const double value = nanoseconds / unit.scale;
    if (value < 1 && unit.scale > 1) continue;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::string number = fmt::format("{:.{}f}", value, unit.scale > 1 ? decimals : 0);
    if (number.find('.') != std::string::npos) {
      number.erase(number.find_last_not_of('0') + 1);
      if (number.back() == '.') number.pop_back();
    }
    return fmt::format("{} {}", number, unit.name);
  }
  return "0 ns";
}

}  // namespace fheres::report
