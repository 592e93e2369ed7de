#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/json.hpp>

#include "command.hpp"
#include "completion.hpp"
#include "features.hpp"
#include "options.hpp"

namespace fheres::cli {
namespace {

struct CompletionOptions {
  std::string shell;
  CommonOptions common;
};

std::string script_of(const std::string& shell, const Manual& manual) {
  if (shell == "bash") return bash_completion(manual);
  return shell == "zsh" ? zsh_completion(manual) : fish_completion(manual);
}

/// A text that is the whole answer.
ExitCode give(const CommonOptions& common, report::Json head, const char* key, const std::string& text) {
  if (common.json) {
    head[key] = text;
    fmt::print("{}", report::render(head));
  } else if (!common.quiet) {
    fmt::print("{}", text);
  }
  return ExitCode::done;
}

}  // namespace

void add_completion(Command& app, Action& action) {
  auto options = std::make_shared<CompletionOptions>();
  Command* command = app.add_subcommand("completion", "a script that completes fheres in a shell");
  command->add_option("shell", options->shell, "bash, zsh or fish")
      ->required()
      ->one_of({"bash", "zsh", "fish"});
  add_common(*command, options->common);
  command->footer("example: source <(fheres completion bash)");
  command->callback([options, &app, &action] {
    action = [options, &app] {
      return give(options->common, {{"schema", "fheres/completion/v1"}, {"shell", options->shell}}, "script",
                  script_of(options->shell, app.manual()));
    };
  });
}

void add_man(Command& app, Action& action) {
  auto options = std::make_shared<CompletionOptions>();
  Command* command = app.add_subcommand("man", "the manual page, from the same source as every --help");
  add_common(*command, options->common);
  command->footer("example: fheres man > fheres.1");
  command->callback([options, &app, &action] {
    action = [options, &app] {
      return give(options->common, {{"schema", "fheres/man/v1"}}, "page", man_page(app.manual(), kVersion));
    };
  });
}

}  // namespace fheres::cli
