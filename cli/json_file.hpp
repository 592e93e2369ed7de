#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <fheres/base/file.hpp>
#include <fheres/report/json.hpp>

namespace fheres::cli {

/// The text of a file, mapped, or of a pipe, of at most 256 MiB. FileError.
class InputText {
 public:
  explicit InputText(const std::string& file);
  std::string_view text() const;

 private:
  std::variant<MappedFile, std::string> held_;
};

/// An answer or a report that fheres wrote, without lists of holders, which are most of a long one and
/// which nobody reads back; or why it is none, in words that go on after the file's name. What a hostile text can ask for is
/// bounded: 64 levels, 5 million values.
std::variant<report::Json, std::string> parse_json(std::string_view text);
/// The same of a file, which may not be there; what these keys hold, at any depth, is left out too.
std::variant<report::Json, std::string> read_json(const std::string& file,
                                                  std::span<const std::string_view> unread = {});

}  // namespace fheres::cli
