#include <cstdio>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <unistd.h>

#include <fheres/documents/machine_file.hpp>
#include <fheres/report/file.hpp>
#include <fheres/report/machine_json.hpp>
#include <fheres/report/table.hpp>
#include <fheres/runtime/calibrate.hpp>
#include <fheres/scheme/presets.hpp>

#include "command.hpp"
#include "device.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "streams.hpp"

namespace fheres::cli {
namespace {

struct CalibrateOptions {
  std::vector<std::string> devices{"auto"};
  std::string file;
  std::string name = "this-machine";
  std::vector<std::string> presets{"slots8192-scale40-levels7"};
  std::vector<int> levels;
  bool copies_only = false;
  int repetitions = runtime::CalibrateOptions{}.repetitions;
  std::string largest_copy = "256 MiB";
  int threads = 0;
  CommonOptions common;
};

std::string check_size(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (const auto* bad = std::get_if<BadBytes>(&bytes)) return bad->reason;
  return std::get<Bytes>(bytes) < 64 * kKiB ? "expected at least 64 KiB" : "";
}

ExitCode calibrate(const CalibrateOptions& options) {
  if (options.devices.size() > 1) {
    say(fmt::format("fheres: --device: one is measured at a time, and {} are given", options.devices.size()));
    return ExitCode::invalid;
  }
  const auto choice = device_choice(options.devices);
  if (!choice) return ExitCode::invalid;
  if (!outputs_are_ready({}, {{"--output", options.file}})) return ExitCode::invalid;
  const runtime::Machine machine = runtime::select_machine(*choice, 1);
  if (!machine.note.empty() && !options.common.quiet) fmt::print(stderr, "{}\n", machine.note);
  ring::use_threads(options.threads);
  runtime::CalibrateOptions how;
  if (!options.copies_only) how.presets = options.presets;
  how.levels = options.levels;
  how.repetitions = options.repetitions;
  how.largest_copy = std::get<Bytes>(parse_bytes(options.largest_copy));
  how.interrupted = &interrupt_flag();
  const bool tell = !options.common.quiet && isatty(STDERR_FILENO) == 1;
  if (tell) how.progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
  workload::Machine measured;
  try {
    measured = runtime::calibrate(machine, memory::Location::cuda(0), how);
  } catch (const runtime::Interrupted&) {
    if (tell) fmt::print(stderr, "\r\033[K");
    fmt::print(stderr, "fheres: interrupted, and nothing was written\n");
    return ExitCode::interrupted;
  }
  if (tell) fmt::print(stderr, "\r\033[K");
  measured.name = options.name;
  const std::string yaml = documents::machine_yaml(
      measured, fmt::format("measured by fheres calibrate, medians of up to {}", options.repetitions));
  if (!options.file.empty()) report::write_file(options.file, yaml);
  if (options.common.json) {
    fmt::print("{}", report::render(report::machine_json(measured)));
  } else if (options.file.empty()) {
    fmt::print("{}", yaml);
  } else if (!options.common.quiet) {
    fmt::print("{}", report::machine_text(measured));
    fmt::print("written: {}\n", options.file);
  }
  return ExitCode::done;
}

}  // namespace

void add_calibrate(Command& app, Action& action) {
  auto options = std::make_shared<CalibrateOptions>();
  Command* command = app.add_subcommand(
      "calibrate", "measures a device's copies and operations into a Machine document, for compile and run");
  add_device(*command, options->devices, "auto, emulated, or cuda:N")->capture_default_str();
  names_file(command->add_option("-o,--output", options->file,
                                 "where the document is written; without it, to stdout"));
  command->add_option("--name", options->name, "the document's name")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--preset", options->presets,
                   "parameters whose operations are timed; several may be given")
      ->check([](const std::string& text) {
        return scheme::find_preset(text) ? "" : fmt::format("there is no preset `{}`", text);
      })
      ->type_name("PRESET")
      ->capture_default_str();
  command
      ->add_option("--level", options->levels,
                   "levels at which they are timed; without it six of them, the others lie between")
      ->between(0, 1000);
  command->add_flag("--copies-only", options->copies_only, "no operations");
  command->add_option("--repetitions", options->repetitions, "of each figure, at most; the median counts")
      ->between(3, 10000)
      ->capture_default_str();
  command->add_option("--largest-copy", options->largest_copy, "bytes of the largest copy")
      ->type_name("SIZE")
      ->check(check_size)
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads of the cpu back end; 0: one a core")
      ->between(0, 1024)
      ->capture_default_str();
  add_common(*command, options->common);
  command->footer("example: fheres calibrate --device emulated --copies-only -o machine.yaml");
  command->callback([options, &action] { action = [options] { return calibrate(*options); }; });
}

}  // namespace fheres::cli
