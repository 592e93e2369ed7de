#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include <fheres/base/error.hpp>

#include "command.hpp"
#include "features.hpp"

int main(int argc, char** argv) {
  using fheres::cli::ExitCode;
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
  if (const auto done = app.parse(argc, argv)) return static_cast<int>(*done);
  try {
    return static_cast<int>(action());
  } catch (const fheres::Error& error) {
    fmt::print(stderr, "fheres: {} [{}]\n", error.what(), error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "fheres: {}\n", error.what());
  }
  return static_cast<int>(ExitCode::failed);
}
