#include <cstdio>
#include <exception>
#include <system_error>

#include <fmt/format.h>

#include <fheres/base/error.hpp>

#include "command.hpp"
#include "features.hpp"
#include "interrupt.hpp"
#include "streams.hpp"

namespace {

using fheres::cli::ExitCode;
using fheres::cli::say;

ExitCode run(int argc, char** argv) {
  fheres::cli::Command app("decides, proves and executes where the values of encrypted computation live",
                           "fheres");
  app.require_subcommand(1);
  app.set_version_flag("--version", fheres::cli::version_text(), "the version, and what this build can do");
  app.footer(
      "`fheres COMMAND --help` shows an example. Exit codes: 0 done or feasible, 1 the answer is no, 2 usage "
      "or invalid document, 3 inconclusive, 4 failed while running, 5 a result is wrong, 6 worse than the "
      "baseline, 130 interrupted.");
  fheres::cli::Action action;
  fheres::cli::add_validate(app, action);
  fheres::cli::add_explain(app, action);
  fheres::cli::add_explain_code(app, action);
  fheres::cli::add_decide(app, action);
  fheres::cli::add_compile(app, action);
  fheres::cli::add_fit(app, action);
  fheres::cli::add_verify(app, action);
  fheres::cli::add_diff(app, action);
  fheres::cli::add_run(app, action);
  fheres::cli::add_trace(app, action);
  fheres::cli::add_params(app, action);
  fheres::cli::add_devices(app, action);
  fheres::cli::add_calibrate(app, action);
  fheres::cli::add_keys(app, action);
  fheres::cli::add_client(app, action);
  fheres::cli::add_init(app, action);
  fheres::cli::add_schema(app, action);
  fheres::cli::add_completion(app, action);
  fheres::cli::add_man(app, action);
  if (const auto done = app.parse(argc, argv)) return *done;
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  fheres::cli::open_standard_streams();
  fheres::cli::exit_when_interrupted();
  ExitCode code = ExitCode::failed;
  try {
    code = run(argc, argv);
  } catch (const fheres::Error& error) {
    say(fmt::format("fheres: {} [{}]", error.what(), error.code()));
  } catch (const std::system_error& error) {
    // What fmt says where stdout or stderr cannot be written, which is told below.
    if (std::ferror(stdout) == 0) say(fmt::format("fheres: {}", error.what()));
  } catch (const std::exception& error) {
    say(fmt::format("fheres: {}", error.what()));
  }
  if (const std::string lost = fheres::cli::flush_stdout(); !lost.empty()) {
    say(fmt::format("fheres: cannot write to standard output: {}", lost));
    if (code != ExitCode::interrupted) code = ExitCode::failed;
  }
  return static_cast<int>(code);
}
