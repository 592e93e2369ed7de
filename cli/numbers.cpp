#include "numbers.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <fheres/base/file.hpp>

namespace fheres::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw FileError(fmt::format("{}: {}", path.string(), why));
}

/// NumPy's format: magic, version, length of a header that is a Python dictionary, the array.
std::vector<double> read_npy(const std::filesystem::path& path, std::string_view text) {
  const std::size_t fixed = kMagic.size() + 2;
  const std::size_t length_bytes = text.size() > fixed && text[kMagic.size()] == 1 ? 2 : 4;
  if (text.size() < fixed + length_bytes) refuse(path, "the array's header is cut off");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(text[fixed + i])) << (8 * i);
  }
  text.remove_prefix(fixed + length_bytes);
  if (text.size() < length) refuse(path, "the array's header is cut off");
  const std::string_view header = text.substr(0, length);
  text.remove_prefix(length);
  if (header.find("'<f8'") == header.npos) refuse(path, "the array is not of little-endian doubles (`<f8`)");
  const std::size_t open = header.find('(');
  const std::size_t comma = header.find(',', open);
  const std::size_t close = header.find(')', open);
  if (open == header.npos || comma == header.npos || close != comma + 1) {
    refuse(path, "the array has not one dimension");
  }
  std::size_t count = 0;
  const char* const end = header.data() + comma;
  const auto [parsed, error] = std::from_chars(header.data() + open + 1, end, count);
  if (error != std::errc{} || parsed != end || count > text.size() / sizeof(double) ||
      count * sizeof(double) != text.size()) {
    refuse(path, fmt::format("the array has {} bytes, which is not what its shape says", text.size()));
  }
  std::vector<double> numbers(count);
  if (count != 0) std::memcpy(numbers.data(), text.data(), text.size());
  return numbers;
}

std::vector<double> read_text(const std::filesystem::path& path, std::string_view text, std::size_t most) {
  constexpr std::string_view kSeparators = " \t\r\n,;";
  std::vector<double> numbers;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != text.npos;
       at = text.find_first_not_of(kSeparators, at)) {
    const std::string_view word = text.substr(at, text.find_first_of(kSeparators, at) - at);
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size()) {
      refuse(path, fmt::format("`{}` is no number", word.substr(0, 40)));
    }
    numbers.push_back(number);
    if (numbers.size() > most) break;
    at += word.size();
  }
  return numbers;
}

}  // namespace

std::vector<double> read_numbers(const std::filesystem::path& path, std::size_t most) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::vector<double> numbers = text.starts_with(kMagic) ? read_npy(path, text) : read_text(path, text, most);
  if (numbers.empty()) refuse(path, "it has no numbers");
  if (numbers.size() > most) refuse(path, fmt::format("it has more than {} numbers, one a slot", most));
  for (const double number : numbers) {
    if (!std::isfinite(number)) refuse(path, fmt::format("{} is no finite number", number));
  }
  return numbers;
}

}  // namespace fheres::cli
