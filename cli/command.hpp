#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "exit_code.hpp"

namespace fheres::cli {

/// What a parsed command does. Set by exactly one subcommand's callback, run by main.
using Action = std::function<ExitCode()>;

// Each adds one subcommand, with its own options and an example in its help. cmd_<name>.cpp holds it.
void add_validate(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_explain_code(CLI::App& app, Action& action);
void add_decide(CLI::App& app, Action& action);
void add_compile(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_fit(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_params(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_keys(CLI::App& app, Action& action);
void add_client(CLI::App& app, Action& action);
void add_init(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
/// `completion` and `man` say what the parser knows once all commands are there.
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

}  // namespace fheres::cli
