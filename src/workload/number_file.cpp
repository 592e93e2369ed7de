#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <fheres/workload/number_file.hpp>

namespace fheres::workload {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they stand in the file");

constexpr std::uint64_t kMaxHeader = 64 * 1024;
constexpr std::uint64_t kBytesOfText = 64;  // a number in a .csv

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::uint64_t limit) : path_(path), limit_(limit) {}

  std::vector<double> run() {
    const auto format = number_format_of(path_);
    if (!format) fail("its extension is none of .npy, .csv, .f64, .bin and .raw");
    switch (*format) {
      case NumberFormat::npy:
        read_bytes(kMaxHeader + limit_ * 16);
        read_npy();
        break;
      case NumberFormat::csv:
        read_bytes(limit_ * kBytesOfText);
        read_csv();
        break;
      case NumberFormat::raw:
        read_bytes(limit_ * 8);
        if (bytes_.size() % 8 != 0)
          fail(fmt::format("it has {} bytes, which is no number of 8-byte doubles", bytes_.size()));
        convert<double>(bytes_, 1);
        break;
    }
    if (numbers_.empty()) fail("it has no numbers");
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (!std::isfinite(numbers_[i])) fail(fmt::format("number {} is {}", i, numbers_[i]));
    }
    return std::move(numbers_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw FileError(fmt::format("{}: {}", path_.string(), why));
  }
  [[noreturn]] void fail_count(std::uint64_t count) const {
    fail(fmt::format("it has {} numbers, expected at most {}", count, limit_));
  }

  void read_bytes(std::uint64_t most) {
    std::error_code error;
    const auto status = std::filesystem::status(path_, error);
    if (!std::filesystem::exists(status)) fail("there is no such file");
    if (!std::filesystem::is_regular_file(status)) fail("it is no regular file");
    const std::uint64_t size = std::filesystem::file_size(path_, error);
    if (error) fail(error.message());
    if (size > most) fail(fmt::format("it has {} bytes, and {} numbers take at most {}", size, limit_, most));
    std::ifstream file(path_, std::ios::binary);
    bytes_.resize(size);
    if (!file.read(bytes_.data(), static_cast<std::streamsize>(size))) fail("it cannot be read");
  }

  /// Every `stride`-th Element.
  template <class Element>
  void convert(std::string_view bytes, std::size_t stride) {
    const std::uint64_t count = bytes.size() / sizeof(Element) / stride;
    if (count > limit_) fail_count(count);
    numbers_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Element element;
      std::memcpy(&element, bytes.data() + i * stride * sizeof(Element), sizeof element);
      numbers_[i] = static_cast<double>(element);
    }
  }

  void read_npy() {
    const std::string_view all = bytes_;
    if (!all.starts_with("\x93NUMPY") || all.size() < 10) fail("it does not begin as a .npy file does");
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(all[i])}; };
    const std::uint64_t major = byte(6);
    if (major < 1 || major > 3) fail(fmt::format("its format is version {}, expected 1 to 3", major));
    const std::size_t start = major == 1 ? 10 : 12;
    if (all.size() < start) fail("it ends inside its header");
    std::uint64_t length = byte(8) | byte(9) << 8;
    if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
    if (length > kMaxHeader || length > all.size() - start)
      fail(fmt::format("its header is said to have {} bytes, and {} are there", length, all.size() - start));
    header_ = all.substr(start, length);
    const std::string_view kind = text_of("descr");
    const std::uint64_t count = count_of(shape());
    const std::string_view data = all.substr(start + length);
    const std::uint64_t bytes = kind == "<f8" ? 8 : kind == "<f4" ? 4 : kind == "<c16" ? 16 : 0;
    if (bytes == 0) fail(fmt::format("its numbers are `{}`, expected <f8, <f4 or <c16", printable(kind)));
    if (count > limit_) fail_count(count);
    if (data.size() != count * bytes)
      fail(fmt::format("{} numbers of {} bytes are announced, and {} bytes are there", count, bytes,
                       data.size()));
    if (bytes == 4) {
      convert<float>(data, 1);
      return;
    }
    if (bytes == 16) refuse_imaginary(data);
    convert<double>(data, bytes / 8);
  }

  void refuse_imaginary(std::string_view data) {
    for (std::size_t i = 0; i * 16 < data.size(); ++i) {
      double part = 0;
      std::memcpy(&part, data.data() + i * 16 + 8, sizeof part);
      if (part != 0) fail(fmt::format("number {} has the imaginary part {}, and messages are real", i, part));
    }
  }

  /// What follows a key of the header, a Python dictionary.
  std::string_view after(std::string_view key) const {
    for (const char quote : {'\'', '"'}) {
      const auto found = header_.find(fmt::format("{0}{1}{0}", quote, key));
      if (found == header_.npos) continue;
      std::string_view rest = header_.substr(found + key.size() + 2);
      rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
      return rest;
    }
    fail(fmt::format("its header has no `{}`", key));
  }

  std::string_view text_of(std::string_view key) const {
    const std::string_view rest = after(key);
    const char quote = rest.empty() ? '\0' : rest[0];
    const auto end = rest.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == rest.npos)
      fail(fmt::format("`{}` of its header is no text", key));
    return rest.substr(1, end - 1);
  }

  std::string_view shape() const {
    const std::string_view rest = after("shape");
    const auto end = rest.find(')');
    if (!rest.starts_with('(') || end == rest.npos) fail("its shape is none");
    return rest.substr(1, end - 1);
  }

  /// Of `4096,`.
  std::uint64_t count_of(std::string_view shape) const {
    std::uint64_t count = 0;
    const char* end = shape.data() + shape.size();
    const auto [stopped, error] = std::from_chars(shape.data(), end, count);
    const std::string_view rest(stopped, static_cast<std::size_t>(end - stopped));
    if (error != std::errc{} || rest.find_first_not_of(" ,") != rest.npos)
      fail(fmt::format("its shape is ({}), expected one dimension", printable(shape)));
    return count;
  }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 40));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return result;
  }

  void read_csv() {
    constexpr std::string_view kBetween = ",; \t\r\n";
    std::string_view rest = bytes_;
    std::uint64_t line = 1;
    while (!rest.empty()) {
      const char c = rest.front();
      if (c == '\n') ++line;
      if (kBetween.find(c) != kBetween.npos) {
        rest.remove_prefix(1);
      } else if (c == '#') {
        rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
      } else {
        const std::string_view word = rest.substr(0, rest.find_first_of(",; \t\r\n#"));
        const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
        double number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error != std::errc{} || end != digits.data() + digits.size())
          fail(fmt::format("line {}: `{}` is no number", line, printable(word)));
        if (numbers_.size() == limit_) fail(fmt::format("it has more than {} numbers", limit_));
        numbers_.push_back(number);
        rest.remove_prefix(word.size());
      }
    }
  }

  const std::filesystem::path& path_;
  std::uint64_t limit_;
  std::string bytes_;
  std::string_view header_;
  std::vector<double> numbers_;
};

}  // namespace

std::optional<NumberFormat> number_format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".npy") return NumberFormat::npy;
  if (extension == ".csv") return NumberFormat::csv;
  if (extension == ".f64" || extension == ".bin" || extension == ".raw") return NumberFormat::raw;
  return std::nullopt;
}

std::vector<double> read_numbers(const std::filesystem::path& path, std::uint64_t limit) {
  return Reader(path, limit).run();
}

}  // namespace fheres::workload
