#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include <fheres/ckks/value_file.hpp>
#include <fheres/report/chrome_trace.hpp>
#include <fheres/report/file.hpp>
#include <fheres/report/rehearsal_json.hpp>
#include <fheres/report/run_json.hpp>
#include <fheres/report/text.hpp>
#include <fheres/ring/backend.hpp>
#include <fheres/runtime/session.hpp>

#include "answer.hpp"
#include "command.hpp"
#include "document.hpp"
#include "features.hpp"
#include "interrupt.hpp"
#include "planned_run.hpp"
#include "value_names.hpp"

namespace fheres::cli {
namespace {

struct Options {
  std::string file, plan_file, machine_file;
  std::vector<std::string> devices{"auto"};
  std::optional<std::uint64_t> seed;
  int threads = 0;
  std::string report_file, trace_file, outputs_folder;
  CommonOptions common;
  PlanningOptions planning;
};

/// Nothing where the text is a device; else why not.
std::string check_device(const std::string& text) {
  const auto at = memory::Location::from_name(text);
  if (text == "auto" || text == "emulated" || (at && at->is_cuda())) return "";
  return fmt::format("`{}` is no device; expected auto, emulated, or cuda:0 to cuda:127", text);
}

std::optional<runtime::DeviceChoice> device_choice(const std::vector<std::string>& names) {
  runtime::DeviceChoice choice;
  for (const std::string& name : names) {
    if (const auto at = memory::Location::from_name(name)) {
      choice.kind = runtime::DeviceChoice::Kind::cuda;
      choice.devices.push_back(at->device());
    } else if (names.size() > 1) {
      return std::nullopt;
    } else if (name == "emulated") {
      choice.kind = runtime::DeviceChoice::Kind::emulated;
    }
  }
  return choice;
}

/// What to do about a document that cannot run as it is planned; nothing where it can.
std::optional<ExitCode> refuse(const workload::Rehearsal& rehearsal, const documents::Model& model,
                               const Options& options) {
  if (rehearsal.answer == workload::Answer::feasible) return std::nullopt;
  if (options.common.json) {
    fmt::print("{}", report::render(report::explanation_json(rehearsal, name_of(model), options.file)));
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

ExitCode run(const Options& options) {
  const auto choice = device_choice(options.devices);
  if (!choice) {
    fmt::print(stderr, "fheres: several --device must all be cuda devices\n");
    return ExitCode::invalid;
  }
  auto model = load_or_report(options.file, options.planning, options.common);
  if (!model) return ExitCode::invalid;
  const workload::Workload* workload = as_workload(*model, options.file);
  if (workload == nullptr || !files_are_there(*workload, options.common)) return ExitCode::invalid;
  std::optional<PlannedRun> planned;
  if (!options.plan_file.empty()) {
    planned = follow_plan(*workload, {options.file, options.plan_file, options.machine_file},
                          options.planning, options.common);
    if (!planned) return ExitCode::invalid;
    model = std::move(planned->workload);
    workload = &std::get<workload::Workload>(*model);
  }
  if (const auto code = refuse(rehearse(*model, options.planning), *model, options)) return *code;
  ring::use_threads(options.threads);
  const runtime::Machine machine = runtime::select_machine(*choice, *workload);
  if (!machine.note.empty() && !options.common.quiet) fmt::print(stderr, "{}\n", machine.note);

  runtime::SessionOptions session;
  session.seed = options.seed;
  session.threads = options.threads;
  session.decide.search_state_limit = options.planning.search_state_limit;
  session.interrupted = &interrupt_flag();
  session.undisturbed = planned.has_value();
  session.time_operations = !planned || !options.trace_file.empty();
  if (!options.common.quiet && !options.common.json && isatty(STDERR_FILENO) == 1) {
    session.progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
  }
  if (!options.outputs_folder.empty()) {
    std::filesystem::create_directories(options.outputs_folder);
    session.output = [&](const workload::Value& value, std::span<const std::byte> bytes) {
      ckks::save_value(*workload->world.parameters,
                       options.outputs_folder / std::filesystem::path(file_name(value.name.text)),
                       {value.name.text, *value.type}, bytes);
    };
  }
  const runtime::RunReport result = runtime::run(*workload, machine, session);
  if (session.progress) fmt::print(stderr, "\r\033[K");

  report::RunContext context{kVersion, options.file, hash_of_file(options.file), name_of(*model)};
  if (planned) context.plan = planned->plan;
  const report::Json json = report::run_json(result, context);
  if (!options.report_file.empty()) report::write_file(options.report_file, report::render(json));
  if (!options.trace_file.empty())
    report::write_file(options.trace_file, report::chrome_trace(report::read_timeline(json)).dump() + "\n");
  if (options.common.json) {
    fmt::print("{}", report::render(json));
  } else if (!options.common.quiet) {
    if (planned) fmt::print("{}\n", report::plan_text(result, planned->plan));
    fmt::print("{}", report::run_text(result));
  }
  return exit_code_of(result);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "run", "executes a Workload with real CKKS values under its budgets, and checks every kept output");
  command->add_option("workload", options->file, "the document")->required();
  command
      ->add_option("--device", options->devices,
                   "auto, emulated, or cuda:N; `cuda:3` binds the document's cuda:0 to that device, several "
                   "are bound in order")
      ->check(check_device)
      ->take_all();
  command->add_option("--plan", options->plan_file,
                      "a Plan that was compiled from this workload: executed exactly, nothing is decided");
  command->add_option("--machine", options->machine_file,
                      "with --plan: the Machine document that predicts its time");
  command->add_option("--seed", options->seed,
                      "reproducible keys and encryptions, for tests; never for real secrets");
  command->add_option("--threads", options->threads, "threads of the cpu back end; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--outputs", options->outputs_folder,
                      "a folder for the kept outputs, each as NAME.safetensors, for `client decrypt`");
  command->add_option("--report", options->report_file, "where to write the JSON report");
  command->add_option("--trace", options->trace_file, "where to write the Chrome trace");
  add_common(*command, options->common);
  add_planning(*command, options->planning);
  command->footer(
      "example: fheres run samples/automatic-rotate-scale.yaml --report report.json --trace trace.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fheres::cli
