#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fheres::report {

/// What every text for people fits in.
inline constexpr std::size_t kColumns = 100;

/// A short text table: a header line, then rows, columns padded to their widest cell (in bytes of ASCII, or code points of
/// UTF-8) and separated by two spaces. No borders, no trailing spaces. Where a line would be wider than kColumns, its last
/// cell goes on below itself, in lines of its own.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column; std::logic_error otherwise.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Every line ends with a newline and starts with `indent` spaces.
  std::string render(int indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `12 ns`, `3.4 µs`, `18 ms`, `1.25 s`: three significant digits at most.
std::string format_duration(double nanoseconds);

/// `1 stage`, `4 stages`.
std::string format_count(std::size_t count, std::string_view noun);

/// The text broken at blanks into lines of at most `width` columns; a word that is longer stands alone. Line breaks of the
/// text stay. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// How many columns a UTF-8 text takes on a terminal, counting one a code point.
std::size_t display_width(std::string_view text);

}  // namespace fheres::report
