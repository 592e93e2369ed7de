#include <cctype>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/documents/diagnostic.hpp>
#include <fheres/documents/explanation.hpp>
#include <fheres/report/json.hpp>

#include "command.hpp"
#include "options.hpp"

namespace fheres::cli {
namespace {

struct ExplainCodeOptions {
  std::string code;
  CommonOptions common;
};

report::Json to_json(const documents::Explanation& item) {
  return {{"code", item.code},
          {"meaning", documents::meaning(item.code)},
          {"why", item.why},
          {"example", item.example.empty() ? report::Json(nullptr) : report::Json(item.example)},
          {"cure", item.cure}};
}

ExitCode explain_code(const ExplainCodeOptions& options) {
  std::string code = options.code;
  for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const documents::Explanation* only = code.empty() ? nullptr : documents::explanation(code);
  if (!code.empty() && only == nullptr) {
    fmt::print(stderr, "fheres: there is no code `{}`; `fheres explain-code` lists them\n", options.code);
    return ExitCode::invalid;
  }
  report::Json list = report::Json::array();
  std::string text;
  for (const documents::Explanation& item : documents::explanations()) {
    if (only != nullptr && only != &item) continue;
    list.push_back(to_json(item));
    text += only != nullptr ? documents::render(item)
                            : fmt::format("{}  {}\n", item.code, documents::meaning(item.code));
  }
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/codes/v1"}, {"codes", std::move(list)}}));
  } else if (!options.common.quiet) {
    fmt::print("{}", text);
  }
  return ExitCode::done;
}

}  // namespace

void add_explain_code(Command& app, Action& action) {
  auto options = std::make_shared<ExplainCodeOptions>();
  Command* command = app.add_subcommand(
      "explain-code", "what a diagnostic code means: why it is checked, an example, and what to do");
  command->add_option("code", options->code, "a code such as FHR0103; all codes where none is given");
  add_common(*command, options->common);
  command->footer("example: fheres explain-code FHR0404");
  command->callback([options, &action] { action = [options] { return explain_code(*options); }; });
}

}  // namespace fheres::cli
