#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "command.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  CommonOptions common;
  PlanningOptions planning;
};

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string counts_of(const workload::Machine& machine) {
  return fmt::format("{} of copies, {}", plural(machine.copies.size(), "direction"),
                     plural(machine.operations.size(), "operation"));
}

std::string counts_of(const documents::Model& model) {
  return std::visit(
      [&](const auto& item) {
        if constexpr (requires { item.requests; }) {
          return fmt::format("{}, {}", plural(item.world.values.size(), "value"),
                             plural(item.requests.size(), "request"));
        } else {
          return fmt::format("{}, {}", plural(item.world.values.size(), "value"),
                             plural(item.stages.size(), "stage"));
        }
      },
      model);
}

ExitCode validate(const Options& options) {
  bool good = true;
  report::Json files = report::Json::array();
  for (const std::string& file : options.files) {
    const documents::Loaded loaded =
        documents::load(file, {options.planning.allow_outside, budgets_of(options.planning), true});
    good = good && loaded.valid();
    if (options.common.json) {
      files.push_back(
          {{"file", file},
           {"valid", loaded.valid()},
           {"kind", loaded.valid() ? report::Json(documents::kind_of(loaded)) : report::Json(nullptr)},
           {"diagnostics", diagnostics_json(loaded)}});
    } else if (!loaded.valid()) {
      print_diagnostics(loaded, options.common);
    } else if (!options.common.quiet) {
      fmt::print("{}: valid {} `{}` ({})\n", file, documents::kind_of(loaded),
                 loaded.machine ? loaded.machine->name : name_of(*loaded.model),
                 loaded.machine ? counts_of(*loaded.machine) : counts_of(*loaded.model));
    }
  }
  if (options.common.json) {
    fmt::print("{}", report::render(
                         {{"schema", "fheres/validation/v1"}, {"valid", good}, {"files", std::move(files)}}));
  }
  return good ? ExitCode::done : ExitCode::invalid;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("validate", "reads documents strictly and reports every problem at file:line:col");
  command->add_option("file", options->files, "documents: Workload, Plan, Request or Machine")->required();
  command->add_flag("--allow-outside", options->planning.allow_outside,
                    "let a document name files outside of its own folder");
  add_common(*command, options->common);
  command->footer("example: fheres validate samples/*.yaml plans/*.yaml");
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace fheres::cli
