#include "json_file.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

namespace fheres::cli {
namespace {

using report::Json;

constexpr int kDeepest = 64;
constexpr std::size_t kMostValues = 5'000'000;
constexpr std::size_t kMostOfPipe = 256 * 1024 * 1024;

struct TooMuch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::variant<Json, std::string> parse_without(std::string_view text,
                                              std::span<const std::string_view> unread) {
  std::size_t values = 0;
  const auto is_read = [unread](const Json& key) {
    const std::string& name = key.get_ref<const std::string&>();
    return name != "holders" && std::find(unread.begin(), unread.end(), name) == unread.end();
  };
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) throw TooMuch(fmt::format("it is nested more than {} levels deep", kDeepest));
    if (event == Json::parse_event_t::key) return is_read(parsed);
    if (++values > kMostValues) throw TooMuch(fmt::format("it has more than {} values", kMostValues));
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), keep);
  } catch (const Json::parse_error& error) {
    return fmt::format("byte {} is where it stops being JSON", error.byte);
  } catch (const TooMuch& error) {
    return std::string(error.what());
  }
}

}  // namespace

InputText::InputText(const std::string& file) : held_(std::string()) {
  if (std::filesystem::is_regular_file(file)) {
    held_ = MappedFile(file);
  } else {
    held_ = read_whole(file, kMostOfPipe);
  }
}

std::string_view InputText::text() const {
  if (const auto* text = std::get_if<std::string>(&held_)) return *text;
  const std::span<const std::byte> bytes = std::get<MappedFile>(held_).bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::variant<Json, std::string> parse_json(std::string_view text) { return parse_without(text, {}); }

std::variant<Json, std::string> read_json(const std::string& file, std::span<const std::string_view> unread) {
  try {
    return parse_without(InputText(file).text(), unread);
  } catch (const FileError& error) {
    return std::string(error.what());
  }
}

}  // namespace fheres::cli
