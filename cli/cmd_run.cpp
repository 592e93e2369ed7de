#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <fheres/ckks/value_file.hpp>
#include <fheres/report/chrome_trace.hpp>
#include <fheres/report/file.hpp>
#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/run_cases.hpp>
#include <fheres/report/run_json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/report/text.hpp>
#include <fheres/ring/backend.hpp>
#include <fheres/runtime/session.hpp>

#include "answer.hpp"
#include "baseline.hpp"
#include "ci_output.hpp"
#include "command.hpp"
#include "device.hpp"
#include "document.hpp"
#include "features.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "planned_run.hpp"
#include "progress.hpp"
#include "streams.hpp"
#include "value_names.hpp"

namespace fheres::cli {
namespace {

constexpr const char* kCommand = "fheres run";

struct RunOptions {
  std::string file, plan_file, machine_file;
  std::vector<std::string> devices{"auto"};
  std::optional<std::uint64_t> seed;
  int threads = 0;
  int repeat = 1, warmup = 0;
  std::string report_file, trace_file, outputs_folder, baseline;
  CommonOptions common;
  PlanningOptions planning;
};

/// What to do about a document that cannot run as it is planned; nothing where it can.
std::optional<ExitCode> refuse(const workload::Rehearsal& rehearsal, const documents::Model& model,
                               const RunOptions& options) {
  if (rehearsal.answer == workload::Answer::feasible) return std::nullopt;
  if (is_for_ci(options.common)) {
    print_for_ci(options.common, kCommand, name_of(model),
                 report::cases_of(rehearsal, parts_of(model), place_of(model)));
  } else if (options.common.json) {
    print(report::explanation_json(rehearsal, name_of(model), options.file));
  } else {
    fmt::print(stderr, "{}", report::rehearsal_text(rehearsal, /*brief=*/true));
  }
  return exit_code_of(rehearsal);
}

ExitCode exit_code_of(const runtime::RunReport& report) {
  switch (report.status) {
    case runtime::RunStatus::done:
      return ExitCode::done;
    case runtime::RunStatus::failed:
      return ExitCode::failed;
    case runtime::RunStatus::wrong_result:
      return ExitCode::wrong_result;
    case runtime::RunStatus::interrupted:
      return ExitCode::interrupted;
  }
  return ExitCode::failed;
}

/// Where stdout does not say it in words, stderr does.
void say_failure(const runtime::RunReport& report) {
  if (report.failure) fmt::print(stderr, "fheres: {}", report::verdict(report));
}

/// How long the stages of each run took that went to its end.
struct Timings {
  int warmup = 0;
  std::vector<std::int64_t> stages_ns;

  std::vector<std::int64_t> sorted() const {
    std::vector<std::int64_t> times = stages_ns;
    std::sort(times.begin(), times.end());
    return times;
  }
  report::Json json() const {
    const auto times = sorted();
    return {{"warmup", warmup},
            {"stages_ns", stages_ns},
            {"median_ns", times[times.size() / 2]},
            {"fastest_ns", times.front()},
            {"slowest_ns", times.back()}};
  }
  std::string text() const {
    const auto duration = [](std::int64_t ns) { return report::format_duration(static_cast<double>(ns)); };
    const auto times = sorted();
    return fmt::format("{} runs{}: stages took {} in the median, {} at best, {} at worst\n", times.size(),
                       warmup == 0 ? "" : fmt::format(" after {} to warm up", warmup),
                       duration(times[times.size() / 2]), duration(times.front()), duration(times.back()));
  }
};

/// Each run starts from the beginning, with keys of its own. The first that is not done is the last.
runtime::RunReport run_repeatedly(const workload::Workload& workload, const runtime::Machine& machine,
                                  const runtime::SessionOptions& session, int repeat, Timings& timings) {
  for (int i = 0;; ++i) {
    runtime::RunReport report = runtime::run(workload, machine, session);
    const bool whole =
        report.status == runtime::RunStatus::done || report.status == runtime::RunStatus::wrong_result;
    if (whole && i >= timings.warmup) timings.stages_ns.push_back(report.stages_ns());
    if (report.status != runtime::RunStatus::done || i + 1 >= timings.warmup + repeat) return report;
  }
}

/// Where each budget is fullest: who holds the room there is what a report tells.
std::set<std::string> fullest_stages(const workload::Rehearsal& rehearsal) {
  std::map<memory::Location, std::pair<Bytes, const std::string*>> fullest;
  for (const workload::StageRehearsal& stage : rehearsal.stages) {
    for (const residency::LocationExplanation& location : stage.explanation.locations) {
      if (!location.budget) continue;
      auto& [most, name] = fullest[location.at];
      if (name == nullptr || location.peak_charged > most) most = location.peak_charged, name = &stage.name;
    }
  }
  std::set<std::string> names;
  for (const auto& [at, peak] : fullest) names.insert(*peak.second);
  return names;
}

/// Whether a file was written that was asked for; says why not. What the run found is told all the same.
template <class Write>
bool write_or_say(const std::string& file, const Write& write) {
  if (file.empty()) return true;
  try {
    write(file);
    return true;
  } catch (const FileError& error) {
    say(fmt::format("fheres: {} [{}]", error.what(), error.code()));
    return false;
  }
}

/// A run that ended before it began: its report says why.
runtime::RunReport failed_report(const Error& error) {
  runtime::RunReport report;
  report.status = runtime::RunStatus::failed;
  report.failure = runtime::RunFailure{error.code(), error.what(), "", "placement"};
  return report;
}

runtime::RunReport execute(const workload::Workload& workload, const runtime::DeviceChoice& choice,
                           bool planned, std::set<std::string> holders_in, const RunOptions& options,
                           Timings& timings) {
  runtime::Machine machine;
  try {
    make_folders(options.outputs_folder);
    machine = runtime::select_machine(choice, workload);
  } catch (const Error& error) {
    return failed_report(error);
  }
  if (!machine.note.empty() && !options.common.quiet) fmt::print(stderr, "{}\n", machine.note);
  ProgressLine line(options.common);
  runtime::SessionOptions session;
  session.seed = options.seed;
  session.holders_in = std::move(holders_in);
  session.threads = options.threads;
  session.decide.search_state_limit = options.planning.search_state_limit;
  session.interrupted = &interrupt_flag();
  session.progress = line.listener();
  session.undisturbed = planned;
  session.time_operations = !planned || !options.trace_file.empty();
  if (!options.outputs_folder.empty()) {
    session.output = [&](const workload::Value& value, std::span<const std::byte> bytes) {
      ckks::save_value(*workload.world.parameters,
                       options.outputs_folder / std::filesystem::path(file_name(value.name.text)),
                       {value.name.text, *value.type}, bytes);
    };
  }
  return run_repeatedly(workload, machine, session, options.repeat, timings);
}

ExitCode run(const RunOptions& options) {
  const auto choice = device_choice(options.devices);
  if (!choice) return ExitCode::invalid;
  std::string sha256;
  auto model = load_or_report(options.file, options.planning, options.common, &sha256);
  if (!model) return ExitCode::invalid;
  const workload::Workload* workload = as_workload(*model, options.file, options.common);
  if (workload == nullptr || !files_are_there(*workload, options.file, options.common))
    return ExitCode::invalid;
  std::optional<Baseline> baseline = Baseline::read(options.baseline, name_of(*model));
  if (!baseline) return ExitCode::invalid;
  std::optional<PlannedRun> planned;
  if (!options.plan_file.empty()) {
    planned = follow_plan(*workload, {options.file, options.plan_file, options.machine_file, sha256},
                          options.planning, options.common);
    if (!planned) return ExitCode::invalid;
    model = std::move(planned->workload);
    workload = &std::get<workload::Workload>(*model);
  }
  const bool is_told = options.common.json || !options.report_file.empty();
  std::set<std::string> holders_in;
  {
    const workload::Rehearsal rehearsal = rehearse(*model, options.planning);  // of a long run it is large
    if (const auto code = refuse(rehearsal, *model, options)) return *code;
    if (is_told) holders_in = fullest_stages(rehearsal);
  }
  if (!outputs_are_ready({{"the document", options.file},
                          {"--plan", options.plan_file},
                          {"--machine", options.machine_file}},
                         {{"--report", options.report_file}, {"--trace", options.trace_file}}))
    return ExitCode::invalid;
  ring::use_threads(options.threads);
  Timings timings{options.warmup, {}};
  const runtime::RunReport result =
      execute(*workload, *choice, planned.has_value(), std::move(holders_in), options, timings);

  report::RunContext context{kVersion, options.file, sha256, name_of(*model)};
  if (planned) context.plan = planned->plan;
  const bool repeated = options.repeat + options.warmup > 1 && !timings.stages_ns.empty();
  report::LongAnswer json;  // most runs are only looked at
  if (is_told || !options.trace_file.empty() || !options.baseline.empty()) {
    json = report::run_json(result, context);
    if (repeated) json.head["timing"]["repeats"] = timings.json();
  }
  ExitCode code = baseline->judge(exit_code_of(result), json.head);
  const bool written =
      write_or_say(options.report_file, [&](const auto& file) { report::write_file(file, json); }) &
      write_or_say(options.trace_file, [&](const auto& file) {
        report::write_file(file, report::chrome_trace_text(report::read_timeline(json)));
      });
  if (!written && code != ExitCode::interrupted) code = ExitCode::failed;
  const bool for_ci = is_for_ci(options.common);
  if (for_ci) {
    std::vector<report::Case> cases = report::cases_of(result, *workload);
    baseline->add_case(cases, place_of(*model));
    print_for_ci(options.common, kCommand, name_of(*model), cases);
  } else if (options.common.json) {
    print(json);
  }
  // A run that found no device has nothing else to say.
  const bool in_words = !for_ci && !options.common.json && !options.common.quiet && !result.device.empty();
  if (in_words) {
    if (repeated) fmt::print("{}", timings.text());
    if (planned) fmt::print("{}\n", report::plan_text(result, planned->plan));
    fmt::print("{}", report::run_text(result));
  } else {
    say_failure(result);
  }
  baseline->say();
  return code;
}

}  // namespace

void add_run(Command& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  Command* command = app.add_subcommand(
      "run", "executes a Workload with real CKKS values under its budgets, and checks every kept output");
  names_file(command->add_option("workload", options->file, "the document"))->required();
  add_device(*command, options->devices,
             "auto (as a GPU is there or not), emulated, or cuda:N; `cuda:3` binds the document's cuda:0 to "
             "that device, several are bound "
             "in order");
  names_file(command->add_option(
      "--plan", options->plan_file,
      "a Plan that was compiled from this workload: executed exactly, nothing is decided"));
  names_file(command->add_option("--machine", options->machine_file,
                                 "with --plan: the Machine document that predicts its time"));
  command
      ->add_option("--seed", options->seed,
                   "reproducible keys and encryptions, for tests; never for real secrets")
      ->whole();
  command->add_option("--threads", options->threads, "threads of the cpu back end; 0: one a core")
      ->between(0, 1024)
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "runs so often, and reports the last run and all times")
      ->between(1, 100'000)
      ->capture_default_str();
  command->add_option("--warmup", options->warmup, "runs so often before that, with times that do not count")
      ->between(0, 100'000)
      ->capture_default_str();
  names_file(
      command->add_option("--outputs", options->outputs_folder,
                          "a folder for the kept outputs, each as NAME.safetensors, for `client decrypt`"),
      "FOLDER");
  names_file(command->add_option("--report", options->report_file, "where to write the JSON report"));
  names_file(command->add_option("--trace", options->trace_file, "where to write the Chrome trace"));
  add_format(*command, options->common);
  add_baseline(*command, options->baseline);
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer(
      "example: fheres run samples/automatic-rotate-scale.yaml --report report.json --trace trace.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fheres::cli
