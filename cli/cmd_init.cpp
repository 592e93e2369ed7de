#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/file.hpp>
#include <fheres/report/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "resources.hpp"

namespace fheres::cli {
namespace {

struct InitOptions {
  std::string file = "workload.yaml";
  bool force = false;
  CommonOptions common;
};

ExitCode init(const InitOptions& options) {
  if (std::filesystem::exists(options.file) && !options.force) {
    fmt::print(stderr, "fheres: {} is there already, and is not overwritten without --force\n", options.file);
    return ExitCode::invalid;
  }
  report::write_file(options.file, std::string(resource("starter.yaml")));
  if (options.common.json) {
    fmt::print("{}", report::render({{"schema", "fheres/init/v1"}, {"file", options.file}}));
  } else if (!options.common.quiet) {
    fmt::print(
        "{0} is a small workload to change into your own. Next:\n  fheres explain {0}\n  fheres run {0}\n",
        options.file);
  }
  return ExitCode::done;
}

}  // namespace

void add_init(Command& app, Action& action) {
  auto options = std::make_shared<InitOptions>();
  Command* command = app.add_subcommand("init", "a commented starter workload, which runs as it is");
  names_file(command->add_option("file", options->file, "where it goes"))->capture_default_str();
  command->add_flag("--force", options->force, "overwrite a file that is there");
  add_common(*command, options->common);
  command->footer("example: fheres init pipeline.yaml");
  command->callback([options, &action] { action = [options] { return init(*options); }; });
}

}  // namespace fheres::cli
