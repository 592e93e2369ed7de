#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <fheres/base/check.hpp>
#include <fheres/base/file.hpp>
#include <fheres/report/long_answer.hpp>

namespace fheres::report {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

class LongWriter {
 public:
  LongWriter(const LongAnswer& answer, const std::function<void(std::string_view)>& sink)
      : answer_(answer), sink_(sink) {}

  void run() {
    for (const LongAnswer::List& list : answer_.lists) {
      const Json& place = answer_.head.at(Json::json_pointer(list.place));
      FHERES_CHECK(place.is_array() && place.empty());
    }
    write(answer_.head, "", 0);
    piece_ += '\n';
    sink_(piece_);
  }

 private:
  void write(const Json& json, const std::string& place, std::size_t indent) {
    const auto& lists = answer_.lists;
    const auto list = std::find_if(lists.begin(), lists.end(),
                                   [&](const LongAnswer::List& item) { return item.place == place; });
    if (list != lists.end()) {
      write_list(*list, indent);
    } else if (std::any_of(lists.begin(), lists.end(), [&](const LongAnswer::List& item) {
                 return item.place.starts_with(place + "/");
               })) {
      write_members(json, place, indent);
    } else {
      write_all(json, indent);
    }
  }

  void write_members(const Json& json, const std::string& place, std::size_t indent) {
    const char* before = "{\n";
    for (const auto& [key, member] : json.items()) {
      piece_ += std::exchange(before, ",\n");
      piece_.append(indent + 2, ' ');
      write_all(Json(key), 0);
      piece_ += ": ";
      write(member, fmt::format("{}/{}", place, key), indent + 2);
    }
    piece_ += '\n';
    piece_.append(indent, ' ');
    piece_ += '}';
  }

  void write_list(const LongAnswer::List& list, std::size_t indent) {
    piece_ += '[';
    for (std::size_t i = 0; i < list.count; ++i) {
      piece_ += i == 0 ? "\n" : ",\n";
      piece_.append(indent + 2, ' ');
      write_all(list.item(i), indent + 2);
      if (piece_.size() < kPiece) continue;
      sink_(piece_);
      piece_.clear();
    }
    if (list.count != 0) {
      piece_ += '\n';
      piece_.append(indent, ' ');
    }
    piece_ += ']';
  }

  /// As render() writes it, further in: a line break inside a text is written as \\n, so every one is the layout's.
  void write_all(const Json& json, std::size_t indent) {
    const std::string text = render(json);
    for (std::size_t line = 0;;) {
      const std::size_t end = text.find('\n', line);
      piece_.append(text, line, end - line);
      line = end + 1;
      if (line == text.size()) return;
      piece_ += '\n';
      piece_.append(indent, ' ');
    }
  }

  const LongAnswer& answer_;
  const std::function<void(std::string_view)>& sink_;
  std::string piece_;
};

}  // namespace

void render(const LongAnswer& answer, const std::function<void(std::string_view)>& sink) {
  LongWriter(answer, sink).run();
}

void write_file(const std::filesystem::path& path, const LongAnswer& answer) {
  OutputFile file(path);
  render(answer, [&file](std::string_view piece) { file.write(std::as_bytes(std::span(piece))); });
  file.finish();
}

}  // namespace fheres::report
