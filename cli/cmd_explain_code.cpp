#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/report/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "resources.hpp"

namespace fheres::cli {
namespace {

using report::Json;

struct Options {
  std::string code;
  CommonOptions common;
};

/// What docs/diagnostics.md says of a code: the section under its heading.
std::string section_of(std::string_view code) {
  std::string_view text = resource("diagnostics.md");
  const std::string heading = fmt::format("\n## {}: ", code);
  const std::size_t at = text.find(heading);
  if (at == text.npos) return "";
  text.remove_prefix(text.find('\n', at + 1) + 1);
  text = text.substr(0, text.find("\n## "));
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text) + "\n";
}

ExitCode list(const CommonOptions& common) {
  Json codes = Json::array();
  for (const documents::Code& code : documents::codes()) {
    codes.push_back({{"code", code.code}, {"meaning", code.meaning}});
    if (!common.json && !common.quiet) fmt::print("{}  {}\n", code.code, code.meaning);
  }
  if (common.json)
    fmt::print("{}", report::render({{"schema", "fheres/codes/v1"}, {"codes", std::move(codes)}}));
  return ExitCode::done;
}

ExitCode explain_code(const Options& options) {
  if (options.code.empty()) return list(options.common);
  const std::string code = CLI::detail::to_upper(options.code);
  const std::string_view meaning = documents::meaning(code);
  if (meaning.empty()) {
    fmt::print(stderr, "fheres: `{}` is no code; `fheres explain-code` lists them\n", options.code);
    return ExitCode::invalid;
  }
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/code/v1"},
                                     {"code", code},
                                     {"meaning", meaning},
                                     {"text", section_of(code)}}));
  } else if (!options.common.quiet) {
    fmt::print("{}: {}\n\n{}", code, meaning, section_of(code));
  }
  return ExitCode::done;
}

}  // namespace

void add_explain_code(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain-code",
      "what a diagnostic's code means, with an example and the cure; all codes where none is given");
  command->add_option("code", options->code, "such as FHR0103, as it stands at the end of a diagnostic");
  add_common(*command, options->common);
  command->footer("example: fheres explain-code FHR0103");
  command->callback([options, &action] { action = [options] { return explain_code(*options); }; });
}

}  // namespace fheres::cli
