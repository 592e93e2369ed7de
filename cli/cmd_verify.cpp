#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <fheres/report/verification.hpp>
#include <fheres/verify/checks.hpp>

#include "ci_output.hpp"
#include "command.hpp"
#include "document.hpp"
#include "planned_run.hpp"

namespace fheres::cli {
namespace {

struct VerifyOptions {
  std::string file;
  std::string workload;
  CommonOptions common;
  PlanningOptions planning;
};

/// Where the plan's workload is: as the option says, else as the plan does. Empty: it is not looked at, and a
/// line on stderr says why.
std::string workload_file(const VerifyOptions& options, const workload::Program& program) {
  if (!options.workload.empty()) return options.workload;
  if (!program.workload) return {};
  const std::filesystem::path path =
      (std::filesystem::path(options.file).parent_path() / program.workload->file).lexically_normal();
  if (std::filesystem::exists(path)) return path.string();
  fmt::print(stderr,
             "fheres: {} is not there, so the plan is held against the rules alone; --workload says where\n",
             path.string());
  return {};
}

/// The plan's workload; nothing, after telling why, where the plan is not one of it.
std::optional<workload::Workload> load_original(const std::string& file, const workload::Program& program,
                                                const VerifyOptions& options) {
  const documents::Loaded loaded = documents::load(file, {options.planning.allow_outside, {}});
  // A file that was read has a text, also where it is no good document: of another version it is stale, whatever it says.
  if (program.workload && loaded.sources.contains(file)) {
    if (auto problem = stale(program, file, hash_of(loaded, file))) {
      report_problems(options.file, {std::move(*problem)}, options.common);
      return std::nullopt;
    }
  }
  if (!loaded.model) {
    report_invalid(file, loaded, options.common);
    return std::nullopt;
  }
  const auto* original = std::get_if<workload::Workload>(&*loaded.model);
  if (original == nullptr)
    refuse_kind(file, *loaded.model, "is not what the plan is of, expected its Workload", options.common);
  return original == nullptr ? std::nullopt : std::optional(*original);
}

/// Evidence has no lines of its own in a Program; its key is at the start of one in what the compiler writes.
workload::Place place_of_evidence(const std::string& file, const std::string& text) {
  const std::string key = "evidence";
  const std::size_t found = text.starts_with(key + ":") ? 0 : text.find("\n" + key + ":");
  if (found == std::string::npos) return {file, 0, 0, 0};
  const auto above = text.begin() + static_cast<std::ptrdiff_t>(found) + 1;
  return {file, static_cast<int>(std::count(text.begin(), above, '\n')) + 1, 1, static_cast<int>(key.size())};
}

void print_violations(const verify::Verification& verification, const documents::Sources& sources) {
  for (const verify::Violation& violation : verification.violations) {
    fmt::print("{}",
               documents::render({verify::code(violation), violation.place, verify::sentence(violation), {}},
                                 sources));
  }
  if (!verification.sound()) fmt::print("\n");
}

/// A case for initial placement, one for each stage, and one for what the plan says of itself and its workload.
std::vector<report::Case> cases_of(const workload::Program& program,
                                   const std::vector<verify::Violation>& violations) {
  std::vector<report::Case> cases(program.stages.size() + 2);
  cases.front().name = "initial placement";
  cases.back().name = "evidence";
  for (std::size_t i = 0; i < program.stages.size(); ++i) cases[i + 1].name = program.stages[i].name.text;
  for (const verify::Violation& violation : violations) {
    const auto stage = std::find_if(cases.begin() + 1, cases.end() - 1,
                                    [&](const report::Case& item) { return item.name == violation.stage; });
    report::Case& item =
        violation.stage.empty() && violation.phase == verify::Phase::placement ? cases.front() : *stage;
    item.result = report::Case::Result::failed;
    item.findings.push_back({verify::code(violation), violation.place, verify::sentence(violation), ""});
  }
  return cases;
}

ExitCode verify_plan(const VerifyOptions& options) {
  documents::Loaded loaded = documents::load(options.file, {options.planning.allow_outside, {}});
  if (!loaded.model) return report_invalid(options.file, loaded, options.common);
  const auto* program = std::get_if<workload::Program>(&*loaded.model);
  if (program == nullptr)
    return refuse_kind(options.file, *loaded.model, "cannot be verified, expected a Plan", options.common);
  const std::string file = workload_file(options, *program);
  std::optional<workload::Workload> original;
  if (!file.empty()) {
    original = load_original(file, *program, options);
    if (!original) return ExitCode::invalid;
  }
  verify::Verification verification = verify::check(*program, original ? &*original : nullptr);
  for (verify::Violation& violation : verification.violations)
    if (!violation.place.known())
      violation.place = place_of_evidence(options.file, loaded.sources[options.file]);
  const report::Verified of{program->metadata.name.text, options.file, program->stages.size(), file};
  if (is_for_ci(options.common)) {
    print_for_ci(options.common, "fheres verify", of.name, cases_of(*program, verification.violations));
  } else if (options.common.json) {
    fmt::print("{}", report::render(report::verification_json(verification, of)));
  } else if (!options.common.quiet) {
    print_violations(verification, loaded.sources);
    fmt::print("{}", report::verification_text(verification, of));
  }
  return verification.sound() ? ExitCode::done : ExitCode::no;
}

}  // namespace

void add_verify(Command& app, Action& action) {
  auto options = std::make_shared<VerifyOptions>();
  Command* command = app.add_subcommand(
      "verify",
      "checks a Plan rule by rule with none of the planner's code, and holds its evidence against a replay");
  names_file(command->add_option("plan", options->file, "the Plan document"))->required();
  names_file(command->add_option(
      "--workload", options->workload,
      "the Workload that the plan was compiled from, where it is not where the plan says"));
  add_reading(*command, options->planning);
  add_format(*command, options->common);
  add_common(*command, options->common);
  command->footer(
      "example: fheres verify plans/two-tiles.yaml\n"
      "Exit codes: 0 sound, 1 a rule is violated, 2 invalid, or the workload is not the one that it was "
      "compiled from.");
  command->callback([options, &action] { action = [options] { return verify_plan(*options); }; });
}

}  // namespace fheres::cli
