#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/table.hpp>

#include "ci_output.hpp"
#include "command.hpp"
#include "document.hpp"

namespace fheres::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  CommonOptions common;
  PlanningOptions planning;
};

std::string counts_of(const workload::Machine& machine) {
  return fmt::format("{} of copies, {}", report::format_count(machine.copies.size(), "direction"),
                     report::format_count(machine.operations.size(), "operation"));
}

std::string counts_of(const documents::Model& model) {
  const std::size_t values = std::visit([](const auto& item) { return item.world.values.size(); }, model);
  const bool requests = std::holds_alternative<workload::RequestSet>(model);
  return fmt::format("{}, {}", report::format_count(values, "value"),
                     report::format_count(parts_of(model).size(), requests ? "request" : "stage"));
}

ExitCode validate(const ValidateOptions& options) {
  bool good = true;
  std::vector<std::pair<std::string, documents::Loaded>> files;
  std::vector<report::Case> cases;
  for (const std::string& file : options.files) {
    documents::Loaded loaded = documents::load(file, {options.planning.allow_outside, {}, true});
    good = good && loaded.valid();
    if (!loaded.valid() && !options.common.json) {
      print_diagnostics(loaded, options.common);
    } else if (options.common.format == "text" && !options.common.json && !options.common.quiet) {
      fmt::print("{}: valid {} `{}` ({})\n", file, documents::kind_of(loaded),
                 loaded.machine ? loaded.machine->name : name_of(*loaded.model),
                 loaded.machine ? counts_of(*loaded.machine) : counts_of(*loaded.model));
    }
    cases.push_back(case_of(file, loaded));
    loaded.sources.clear();
    if (options.common.json) files.emplace_back(file, std::move(loaded));
  }
  if (is_for_ci(options.common)) {
    print_for_ci(options.common, "fheres validate", "documents", cases);
  } else if (options.common.json) {
    fmt::print("{}", report::render(validation_json(files)));
  }
  return good ? ExitCode::done : ExitCode::invalid;
}

}  // namespace

void add_validate(Command& app, Action& action) {
  auto options = std::make_shared<ValidateOptions>();
  Command* command =
      app.add_subcommand("validate", "reads documents strictly and reports every problem at file:line:col");
  names_file(command->add_option("file", options->files, "documents: Workload, Plan, Request or Machine"))
      ->required();
  command->add_flag("--allow-outside", options->planning.allow_outside,
                    "let a document name files outside of its own folder");
  add_format(*command, options->common);
  add_common(*command, options->common);
  command->footer("example: fheres validate samples/*.yaml plans/*.yaml");
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace fheres::cli
