#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include <fmt/format.h>

#include <fheres/base/file.hpp>
#include <fheres/report/diff_report.hpp>

#include "command.hpp"
#include "document.hpp"
#include "json_file.hpp"
#include "streams.hpp"

namespace fheres::cli {
namespace {

struct DiffOptions {
  std::string before, after;
  CommonOptions common;
  PlanningOptions planning;
};

/// What was found in a file, or how to say what is wrong with it: both files are read at once, and told of in order.
struct Side {
  std::optional<compile::Movements> movements{};
  std::function<void()> complain{};
};

/// A report is JSON; everything else is a document. Says nothing, so that a thread may do it.
Side load_movements(const std::string& file, const InputText& input, const DiffOptions& options) {
  const std::size_t first = input.text().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && input.text()[first] == '{') {
    auto json = parse_json(input.text());
    if (const auto* parsed = std::get_if<report::Json>(&json)) {
      auto read = report::movements_of(*parsed);
      if (auto* movements = std::get_if<compile::Movements>(&read)) return {std::move(*movements), {}};
      return {{}, [why = fmt::format("fheres: {}: {}", file, std::get<std::string>(read))] { say(why); }};
    }
  }
  const documents::LoadOptions how{options.planning.allow_outside, budgets_of(options.planning)};
  auto loaded = std::make_shared<documents::Loaded>(
      documents::load_text(input.text(), file, std::filesystem::path(file).parent_path(), how));
  if (!loaded->model) return {{}, [=, &options] { report_invalid(file, *loaded, options.common); }};
  if (const auto* program = std::get_if<workload::Program>(&*loaded->model))
    return {compile::movements_of(*program), {}};
  if (const auto* workload = std::get_if<workload::Workload>(&*loaded->model)) {
    control::DecideOptions decide;
    decide.search_state_limit = options.planning.search_state_limit;
    return {compile::movements_of(*workload, decide), {}};
  }
  return {{}, [=, &options] {
            refuse_kind(
                file, *loaded->model,
                "cannot be compared, expected a Plan, a Workload, or the JSON of explain, decide or run; "
                "`fheres decide --json` gives one",
                options.common);
          }};
}

/// Reads the file now, once, as it may be a pipe; what is in it is looked at meanwhile.
std::future<Side> begin_to_load(const std::string& file, const DiffOptions& options) {
  std::shared_ptr<InputText> input;
  try {
    input = std::make_shared<InputText>(file);
  } catch (const FileError&) {
    return std::async(std::launch::deferred, [&] {
      return Side{{}, [&] { report_invalid(file, documents::load(file), options.common); }};
    });
  }
  return std::async(std::launch::async, [&, input] { return load_movements(file, *input, options); });
}

ExitCode compare(const DiffOptions& options) {
  auto first = begin_to_load(options.before, options), second = begin_to_load(options.after, options);
  const Side sides[] = {first.get(), second.get()};
  for (const Side& side : sides)
    if (side.complain) side.complain();
  const auto &before = sides[0].movements, &after = sides[1].movements;
  if (!before || !after) return ExitCode::invalid;
  const compile::Diff diff = compile::diff(*before, *after);
  if (options.common.json) {
    fmt::print("{}", report::render(report::diff_json(diff, *before, *after)));
  } else if (!options.common.quiet) {
    fmt::print("{}", report::diff_text(diff, *before, *after));
  }
  return diff.equal() ? ExitCode::done : ExitCode::no;
}

}  // namespace

void add_diff(Command& app, Action& action) {
  auto options = std::make_shared<DiffOptions>();
  Command* command = app.add_subcommand(
      "diff",
      "two plans, workloads, decisions or reports: what moved, what changed, why a transfer appeared");
  names_file(command->add_option("before", options->before,
                                 "a Plan, a Workload, or the JSON of explain, decide or run"))
      ->required();
  names_file(command->add_option("after", options->after, "the same of what it is compared with"))
      ->required();
  add_planning(*command, options->planning);
  add_common(*command, options->common);
  command->footer(
      "example: fheres diff plans/two-tiles.yaml plans/does-not-fit.yaml\n"
      "Exit codes: 0 equal, 1 differences, 2 invalid.");
  command->callback([options, &action] { action = [options] { return compare(*options); }; });
}

}  // namespace fheres::cli
